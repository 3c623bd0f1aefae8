import { timestamp, workspaceId } from '@heddle/api/areas';
import { draftResultFields, lintReport, workflowItem } from './draft-schemas.ts';
import * as z from 'zod';
import { deferredEdge, inputError, skippedItem } from './edit/schemas.ts';

/** Maximum number of workflows that one request moves. */
const MAX_MOVED_WORKFLOWS = 100;

const name = z.string().regex(/\S/, 'name is required').trim().min(1, 'name is required').max(255);
const path = z.string().min(1).max(4096);
const description = z.string().max(50_000);

export { workflowItem };
export const emptyObject = z.strictObject({});
export const workflowPath = z.strictObject({ workflowId: z.string().min(1).max(255) });

export const createBody = z.strictObject({
  workspaceId,
  name,
  description: description.nullish(),
  folderPath: path.optional(),
});

export const createdWorkflow = workflowItem.extend({
  blocks: z.array(z.object({ id: z.string(), type: z.string(), name: z.string() })),
});

export const updateBody = z
  .strictObject({ name: name.optional(), description: description.nullish(), folderPath: path.optional() })
  .refine(
    (body) => Object.values(body).some((value) => value !== undefined),
    'At least one of name, description, or folderPath is required',
  );

export const duplicateBody = z.strictObject({ name: name.optional(), folderPath: path.optional() });

export const deletedWorkflow = z.object({ id: z.string(), deleted: z.boolean(), archived: z.boolean() });

export const moveBody = z.strictObject({
  workspaceId,
  workflowIds: z.array(z.string().min(1).max(255)).min(1).max(MAX_MOVED_WORKFLOWS),
  folderPath: path,
});

export const moveResult = z.object({
  moved: z.array(z.string()),
  failed: z.array(z.object({ id: z.string(), reason: z.string() })),
  folderPath: z.string(),
});

export const folder = z.object({
  name: z.string(),
  path: z.string(),
  parentPath: z.string(),
  locked: z.boolean(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

export const foldersQuery = z.strictObject({
  workspaceId,
  parentPath: path.optional(),
  search: z.string().min(1).max(200).optional(),
  sortBy: z.enum(['name', 'createdAt', 'updatedAt']).default('name'),
  sortOrder: z.enum(['asc', 'desc']).default('asc'),
});

export const folderBody = z.strictObject({ workspaceId, path });
export const relocateBody = z.strictObject({ workspaceId, path, destinationPath: path });

const TRUE_VALUES = ['true', '1', 'yes', 'on', 'y', 'enabled'] as const;
const FALSE_VALUES = ['false', '0', 'no', 'off', 'n', 'disabled'] as const;

export const deleteFolderQuery = z.strictObject({
  workspaceId,
  path,
  recursive: z.enum([...TRUE_VALUES, ...FALSE_VALUES]).default('false'),
});

/** Returns the boolean for a value of `recursive`. */
export function isRecursive(value: z.output<typeof deleteFolderQuery>['recursive']): boolean {
  return (TRUE_VALUES as readonly string[]).includes(value);
}

export const deletedFolder = z.object({
  path: z.string(),
  deleted: z.boolean(),
  deletedItems: z.object({ folders: z.int().min(0), workflows: z.int().min(0) }),
});

export const variablesResult = z.object({
  id: z.string(),
  variableCount: z.int().min(0),
  changed: z.boolean(),
});

export const dryRunQuery = z.strictObject({ dryRun: z.boolean().default(false) });

export const operationsResult = z.object({
  id: z.string(),
  applied: z.int().min(0),
  skipped: z.array(skippedItem),
  deferred: z.array(deferredEdge),
  inputValidationErrors: z.array(inputError),
  mintedBlockIds: z.record(z.string(), z.string()),
  previewBlockIds: z.array(z.string()).optional(),
  warnings: z.array(z.string()),
  needsRedeployment: z.boolean(),
  dryRun: z.boolean(),
  ...draftResultFields,
});

export const inspection = z.object({
  id: z.string(),
  name: z.string(),
  isDeployed: z.boolean(),
  needsRedeployment: z.boolean(),
  blockCount: z.int().min(0),
  edgeCount: z.int().min(0),
  variableCount: z.int().min(0),
  blocks: z.array(
    z.object({
      id: z.string(),
      type: z.string(),
      name: z.string(),
      enabled: z.boolean(),
      parentId: z.string().nullable(),
    }),
  ),
  lint: lintReport,
});
