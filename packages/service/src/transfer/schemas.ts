import { workspaceId } from '@heddle/api/areas';
import * as z from 'zod';
import { key, kindName, manifest, occurrence, resourceId } from './payload.ts';

const anyRecord = z.record(z.string(), z.unknown());

export const emptyObject = z.strictObject({});
export const workflowPath = z.strictObject({ workflowId: z.string().min(1).max(255) });

export const exportQuery = z.strictObject({
  includeReferences: z
    .boolean()
    .default(false)
    .meta({ description: 'Add the manifest of the resources that the workflow refers to' }),
  includeWorkspaceBindings: z.boolean().default(false).meta({
    description: 'Keep references to resources of the workspace, for an import into the same workspace',
  }),
});

export const exportPayload = z.object({
  version: z.literal('1.0'),
  representation: z.literal('portable-export'),
  exportedAt: z.iso.datetime(),
  workflow: z.object({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    workspaceId: z.string(),
    folderPath: z.string(),
  }),
  state: z.object({
    blocks: anyRecord,
    edges: z.array(anyRecord),
    loops: anyRecord,
    parallels: anyRecord,
    variables: anyRecord,
    metadata: anyRecord.optional(),
  }),
  warnings: z.array(z.string()),
  referenceManifest: manifest.optional(),
});

const requestId = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[A-Za-z0-9._:-]+$/);
const fingerprint = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'previewFingerprint must be 64 lower-case hexadecimal digits');
const targetId = resourceId.nullish().meta({ description: 'null: the reference is cleared' });

export const previewBody = z.strictObject({
  workspaceId,
  workflow: z
    .union([anyRecord, z.string()])
    .meta({ description: 'An exported workflow or its state, as an object or as JSON text' }),
  folderPath: z.string().min(1).max(4096).optional(),
  name: z.string().regex(/\S/, 'name is required').trim().min(1, 'name is required').max(200).optional(),
  description: z.string().max(2000).optional(),
  mappings: z
    .array(z.strictObject({ kind: kindName, sourceId: resourceId, targetId }))
    .max(5000)
    .optional(),
  bindings: z
    .array(
      occurrence.extend({
        kind: kindName,
        targetId,
        valuePath: occurrence.shape.valuePath.default([]),
        encoding: occurrence.shape.encoding.default('scalar'),
      }),
    )
    .max(5000)
    .optional(),
  dependentValues: z
    .array(z.strictObject({ blockId: key, subBlockKey: key, value: z.string().max(16_384) }))
    .max(2000)
    .optional(),
});

export const importBody = previewBody.extend({
  requestId: requestId.optional(),
  previewFingerprint: fingerprint.optional(),
});

export type PreviewRequest = z.output<typeof previewBody>;
export type ImportRequest = z.output<typeof importBody>;

const binding = z.object({
  kind: kindName,
  sourceId: z.string(),
  targetId: z.string().nullable(),
  required: z.boolean(),
  occurrence,
});

const configuration = z.object({
  blockId: z.string(),
  subBlockKey: z.string(),
  title: z.string(),
  required: z.boolean(),
  configured: z.boolean(),
  multiSelect: z.boolean().optional(),
  context: z.record(z.string(), z.string()),
  requiresAuthentication: z.boolean(),
});

export const previewResult = z.object({
  previewFingerprint: fingerprint,
  ready: z.boolean(),
  bindings: z.array(binding),
  unresolvedBindings: z.array(binding),
  configuration: z.array(configuration),
  unresolvedConfiguration: z.array(configuration),
  discovery: z.array(
    z.object({ kind: kindName, command: z.string(), humanAuthorizationMayBeRequired: z.boolean() }),
  ),
});

export const report = z.object({
  operationId: z.string(),
  requestId: z.string(),
  workspaceId: z.string(),
  kind: z.enum(['workflow_import', 'workspace_fork', 'workspace_push', 'workspace_pull']),
  applied: z.literal(true),
  status: z.enum(['processing', 'completed', 'completed_with_warnings', 'requires_configuration', 'failed']),
  resourceIds: z.array(z.string()),
  issues: z.array(
    z.object({
      code: z.string(),
      message: z.string(),
      workflowId: z.string().optional(),
      blockId: z.string().optional(),
      subBlockKey: z.string().optional(),
    }),
  ),
  idMap: z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: 'New ids of blocks, edges and variables, keyed by their ids in the file' }),
});

export type Report = z.output<typeof report>;

const importedWorkflow = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  workspaceId: z.string(),
  folderPath: z.string(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  blocks: z.array(z.object({ id: z.string(), type: z.string(), name: z.string() })),
  warnings: z.array(z.string()),
});

export const importResult = importedWorkflow.extend(report.omit({ workspaceId: true }).partial().shape);

export type ImportResult = z.output<typeof importResult>;

export const receiptPath = z.strictObject({
  workspaceId,
  operationId: z.string().min(1).max(128),
});

export const receiptsPath = z.strictObject({ workspaceId });

export const receiptsQuery = z.strictObject({
  requestId: requestId.optional(),
  limit: z.int().min(1).max(100).default(50),
  cursor: z.string().min(1).max(4096).optional(),
});

export const receiptPosition = z.tuple([z.string(), z.string()]);
