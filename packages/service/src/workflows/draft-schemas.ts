import * as z from 'zod';
import { cursor, json, order, pageLimit, timestamp, workspaceId } from '@heddle/api/areas';

/** Maximum number of blocks of a draft. */
export const MAX_BLOCKS = 2000;
/** Maximum number of edges of a draft. */
export const MAX_EDGES = 10_000;

/** An integer that SQLite and PostgreSQL can store. */
const databaseInt = z.int().min(0).max(2_147_483_647);

const folderPath = z.string().max(4096);
const jsonRecord = z.record(z.string(), json);

export const listQuery = z.strictObject({
  workspaceId,
  scope: z.enum(['active', 'archived']).default('active'),
  folderPath: folderPath.optional(),
  deployedOnly: z.boolean().optional(),
  limit: pageLimit(100, 50),
  cursor,
  search: z.string().min(1).max(200).optional(),
  sortBy: z.enum(['position', 'name', 'createdAt', 'updatedAt', 'runCount']).default('position'),
  sortOrder: order.default('asc'),
});

/** Returns the schema of the position after a page: the sort value and the id of its last item. */
export function listPosition(sortBy: z.output<typeof listQuery>['sortBy']) {
  const value = sortBy === 'position' || sortBy === 'runCount' ? databaseInt : z.string();
  return z.tuple([value, z.string()]);
}

export const workflowItem = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  folderPath: z.string(),
  workspaceId: z.string(),
  isDeployed: z.boolean(),
  deployedAt: timestamp.nullable(),
  runCount: z.int().min(0),
  lastRunAt: timestamp.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

export const workflowDetail = workflowItem.extend({
  variables: jsonRecord,
  inputs: z.array(
    z.object({
      name: z.string(),
      type: z.string(),
      description: z.string().nullable(),
      required: z.boolean(),
    }),
  ),
});

/** A block in the workflow format. Exports write null for absent values. */
export const blockShape = z.looseObject({
  id: z.string().min(1).nullish(),
  type: z.string().min(1),
  name: z.string().min(1).max(255),
  position: z.object({ x: z.number(), y: z.number() }).nullish(),
  subBlocks: z.record(z.string(), json).nullish(),
  outputs: json.optional(),
  enabled: z.boolean().nullish(),
  horizontalHandles: z.boolean().nullish(),
  height: z.number().nullish(),
  advancedMode: z.boolean().nullish(),
  errorEnabled: z.boolean().nullish(),
  retry: json.optional(),
  timeoutMs: json.optional(),
  triggerMode: z.boolean().nullish(),
  data: jsonRecord.nullish(),
  locked: z.boolean().nullish(),
});

export const edgeShape = z.looseObject({
  id: z.string().min(1).nullish(),
  source: z.string().min(1),
  target: z.string().min(1),
  sourceHandle: z.string().nullish(),
  targetHandle: z.string().nullish(),
  type: z.string().nullish(),
});

export const variableShape = z.looseObject({
  id: z.string().nullish(),
  name: z.string().min(1).max(255),
  type: z.string(),
  value: json,
});

export const graphBody = z.strictObject({
  blocks: z
    .record(z.string(), blockShape)
    .refine((blocks) => Object.keys(blocks).length <= MAX_BLOCKS, `A draft has at most ${MAX_BLOCKS} blocks`)
    .meta({ maxProperties: MAX_BLOCKS }),
  edges: z.array(edgeShape).max(MAX_EDGES),
  loops: json.optional(),
  parallels: json.optional(),
  variables: z.union([z.record(z.string(), variableShape), z.array(variableShape)]).nullish(),
  metadata: jsonRecord.nullish(),
  // Keys of exported states, which drafts do not have.
  lastSaved: json.optional(),
  isDeployed: json.optional(),
  deployedAt: json.optional(),
  deploymentStatuses: json.optional(),
  needsRedeployment: json.optional(),
});

export type GraphBody = z.output<typeof graphBody>;

export const graph = z.object({
  blocks: jsonRecord,
  edges: z.array(jsonRecord),
  loops: jsonRecord,
  parallels: jsonRecord,
  variables: jsonRecord,
});

const blockRef = z.object({
  blockId: z.string(),
  blockName: z.string().nullable(),
  blockType: z.string().nullable(),
});

const diagnostic = z.object({
  code: z.string(),
  severity: z.enum(['error', 'warning']),
  blockId: z.string().nullable(),
  path: z.array(z.union([z.string(), z.number()])),
  message: z.string(),
  hint: z.string(),
});

export const lintReport = z.object({
  checks: z.array(
    z.object({ name: z.string(), status: z.enum(['complete', 'partial', 'skipped']), detail: z.string() }),
  ),
  sources: z.array(blockRef),
  sinks: z.array(blockRef),
  orphanBlocks: z.array(blockRef),
  emptyOutgoingPorts: z.array(blockRef.extend({ handle: z.string(), label: z.string() })),
  invalidBranchPorts: z.array(blockRef.extend({ sourceHandle: z.string().nullable(), reason: z.string() })),
  invalidConnectionTargets: z.array(
    z.object({
      sourceBlockId: z.string(),
      sourceBlockName: z.string().nullable(),
      sourceHandle: z.string().nullable(),
      targetBlockId: z.string(),
      reason: z.string(),
    }),
  ),
  fieldIssues: z.array(
    blockRef.extend({
      missingRequiredFields: z.array(z.string()),
      inactiveModeValues: z.array(
        z.object({
          canonicalId: z.string(),
          activeMemberId: z.string().nullable(),
          inactiveMemberId: z.string(),
          kind: z.enum(['credential', 'resource', 'other']),
        }),
      ),
    }),
  ),
  unresolvedReferences: z.array(
    blockRef.extend({
      field: z.string(),
      value: z.string(),
      kind: z.enum(['credential', 'resource', 'custom-tool', 'mcp-tool', 'skill', 'block-output']),
      reason: z.string(),
    }),
  ),
  codeIssues: z.array(
    blockRef.extend({
      field: z.string(),
      language: z.literal('javascript'),
      message: z.string(),
      line: z.int().min(1).nullable(),
      column: z.int().min(1).nullable(),
    }),
  ),
  tableFieldIssues: z.array(blockRef.extend({ field: z.string(), tableName: z.string() })),
  diagnostics: z.array(diagnostic),
  notes: z.array(z.string()),
});

export type LintReport = z.output<typeof lintReport>;

const removedBinding = z.object({
  blockId: z.string(),
  blockName: z.string(),
  field: z.string(),
  valuePath: z.array(z.union([z.string(), z.int().min(0)])),
  kind: z.enum(['credential', 'table']),
  resourceId: z.string(),
});

export type RemovedBinding = z.output<typeof removedBinding>;

/** The fields of all results of writes to drafts. */
export const draftResultFields = {
  lint: lintReport,
  removedBindings: z
    .array(removedBinding)
    .meta({ description: 'Credentials and tables to which blocks no longer refer' }),
} as const;

export const replaceQuery = z.strictObject({ dryRun: z.boolean().default(false) });

export const replaceResult = z.object({
  id: z.string(),
  warnings: z.array(z.string()),
  needsRedeployment: z.boolean(),
  dryRun: z.boolean(),
  ...draftResultFields,
});

export const deployBody = z.strictObject({
  name: z.string().min(1).max(100).nullish(),
  description: z.string().max(50_000).nullish(),
});

const activeDeployment = z.object({
  deploymentVersionId: z.string(),
  version: z.int().min(1),
  deployedAt: timestamp,
});

const deploymentAttempt = z.object({
  id: z.string(),
  deploymentVersionId: z.string(),
  version: z.int().min(1),
  action: z.enum(['deploy', 'activate']),
  status: z.enum(['preparing', 'activating', 'active', 'failed', 'superseded']),
  isCurrent: z.boolean(),
  readiness: z.object({ webhooks: z.string(), schedules: z.string(), mcp: z.string() }),
  requestedAt: timestamp,
  activatedAt: timestamp.nullable(),
  error: z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }).nullable(),
});

export const deploymentState = z.object({
  id: z.string(),
  isDeployed: z.boolean(),
  deployedAt: timestamp.nullable(),
  warnings: z.array(z.string()),
  activeDeployment: activeDeployment.nullable(),
  latestDeploymentAttempt: deploymentAttempt.nullable(),
});

export const deployResult = deploymentState.extend({ version: z.int().min(1) });

export const deploymentDetail = deploymentState.extend({
  needsRedeployment: z.boolean(),
  isPublicApi: z.boolean(),
  webhooks: z
    .array(z.object({ blockId: z.string(), provider: z.string(), url: z.string() }))
    .describe('The URLs at which the live version receives requests of other systems'),
});

export const publicBody = z.strictObject({ isPublicApi: z.boolean() });

export const publicResult = z.object({ id: z.string(), isPublicApi: z.boolean() });

export const versionPath = z.strictObject({
  workflowId: z.string().min(1),
  version: z.string().regex(/^[1-9]\d{0,8}$/, 'version must be an integer of at least 1'),
});

/** The path of an operation that also accepts the word `active` for the live version. */
export const versionOrActivePath = z.strictObject({
  workflowId: z.string().min(1),
  version: z
    .union([z.literal('active'), versionPath.shape.version])
    .meta({ description: 'A version, or the live one' }),
});

export const rollbackBody = z.strictObject({
  version: z
    .int()
    .min(1)
    .max(999_999_999)
    .optional()
    .meta({ description: 'Default: the version before the live one' }),
});

export const versionChange = z
  .strictObject({
    name: z.string().min(1).max(100).optional(),
    description: z.string().max(50_000).nullish(),
  })
  .refine(
    ({ name, description }) => name !== undefined || description !== undefined,
    'At least one of name or description is required',
  );

export const changedVersion = z.object({
  version: z.int().min(1),
  name: z.string().nullable(),
  description: z.string().nullable(),
});

export const revertResult = z.object({
  id: z.string(),
  version: z.int().min(1),
  lastSaved: z.int().meta({ description: 'When the draft was replaced, in milliseconds since the epoch' }),
});

export const versionsQuery = z.strictObject({ limit: pageLimit(100, 50), cursor });

export const versionPosition = z.tuple([databaseInt]);

export const versionItem = z.object({
  id: z.string(),
  version: z.int().min(1),
  name: z.string().nullable(),
  description: z.string().nullable(),
  isActive: z.boolean(),
  createdAt: timestamp,
  deployedBy: z.string().nullable(),
});

export const versionDetail = versionItem.extend({ state: graph });
