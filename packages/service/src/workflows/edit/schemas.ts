import { json } from '@heddle/api/areas';
import * as z from 'zod';
import { MAX_BLOCKS, MAX_EDGES } from '../draft-schemas.ts';

/** Maximum number of operations of a batch. */
export const MAX_OPERATIONS = 200;
/** Maximum number of entries of a list or an object inside an operation. */
const MAX_ENTRIES = 500;

const id = z.string().min(1).max(255);
const handle = z.string().min(1).max(255);

/** Returns the schema of a record with a bounded number of entries. */
function boundedRecord<V extends z.ZodType>(value: V) {
  return z
    .record(z.string().max(255), value)
    .refine((record) => Object.keys(record).length <= MAX_ENTRIES, `at most ${MAX_ENTRIES} entries`)
    .meta({ maxProperties: MAX_ENTRIES });
}

const target = z.union([id, z.strictObject({ block: id, handle: handle.optional() })]);
const connections = boundedRecord(z.union([target, z.array(target).max(MAX_ENTRIES)]));
const millis = z.int().min(0).max(86_400_000);

const retry = z.strictObject({
  enabled: z.boolean(),
  maxTries: z.int().min(2).max(100).optional(),
  waitBetweenTriesMs: millis.optional(),
  backoffCoefficient: z.number().min(1).max(100).optional(),
  maxWaitMs: millis.optional(),
  jitter: z.number().min(0).max(1).optional(),
});

const commonParams = {
  inputs: boundedRecord(json).optional(),
  connections: connections.optional(),
  retry: retry.nullable().optional(),
  triggerMode: z.boolean().optional(),
  advancedMode: z.boolean().optional(),
};

const type = z.string().min(1).max(255);
const name = z.string().trim().min(1).max(255);
// A block without a type or name is skipped with a reason, so that it does not fail the whole batch.
const addParams = { type: type.optional(), name: name.optional(), ...commonParams };

const edgeToRemove = z.strictObject({ targetBlockId: id, sourceHandle: handle.default('source') });

const editParams = z.strictObject({
  name: name.optional(),
  ...commonParams,
  removeEdges: z.array(edgeToRemove).max(MAX_ENTRIES).optional(),
  nestedNodes: boundedRecord(z.strictObject(addParams)).optional(),
});

export const draftOperation = z.discriminatedUnion('operation_type', [
  z.strictObject({ operation_type: z.literal('add'), block_id: id, params: z.strictObject(addParams) }),
  z.strictObject({ operation_type: z.literal('edit'), block_id: id, params: editParams }),
  z.strictObject({
    operation_type: z.literal('delete'),
    block_id: id,
    params: z.strictObject({}).optional(),
  }),
  z.strictObject({
    operation_type: z.literal('insert_into_subflow'),
    block_id: id,
    params: z.strictObject({ subflowId: id, ...addParams }),
  }),
  z.strictObject({
    operation_type: z.literal('extract_from_subflow'),
    block_id: id,
    params: z.strictObject({ subflowId: id }),
  }),
]);

const batch = z.strictObject({
  operations: z.array(draftOperation).min(1).max(MAX_OPERATIONS),
  atomic: z.boolean().default(false),
  layout: z.enum(['targeted', 'none']).default('targeted'),
  setBlockEnabled: z
    .array(z.strictObject({ block_id: id, enabled: z.boolean() }))
    .max(MAX_OPERATIONS)
    .optional(),
});

export const operationsBody = batch
  .refine(
    ({ operations }) => sumOf(operations, nestedBlockCountOf) <= MAX_BLOCKS,
    `At most ${MAX_BLOCKS} nested blocks per request`,
  )
  .refine(
    ({ operations }) => sumOf(operations, edgeCountOf) <= MAX_EDGES,
    `At most ${MAX_EDGES} connections per request`,
  );

export type DraftOperation = z.output<typeof draftOperation>;
export type AddBlockParams = Extract<DraftOperation, { operation_type: 'add' }>['params'];
export type EditBlockParams = Extract<DraftOperation, { operation_type: 'edit' }>['params'];
export type Connections = z.output<typeof connections>;
export type OperationsRequest = Omit<z.output<typeof batch>, 'atomic'>;

/** Why an operation, or a part of one, was not applied. */
export const SKIP_TYPES = [
  'block_not_found',
  'invalid_block_type',
  'block_locked',
  'invalid_edge_target',
  'invalid_edge_source',
  'invalid_edge_scope',
  'invalid_source_handle',
  'invalid_target_handle',
  'invalid_subblock_field',
  'missing_required_params',
  'invalid_subflow_parent',
  'nested_subflow_not_allowed',
  'duplicate_block_name',
  'reserved_block_name',
  'retry_not_supported',
  'duplicate_trigger',
  'disabled_ancestor',
] as const;

export const skippedItem = z.object({
  type: z.enum(SKIP_TYPES),
  operationType: z.string(),
  blockId: z.string(),
  reason: z.string(),
  details: z.record(z.string(), json).optional(),
});

export const deferredEdge = z.object({
  sourceBlockId: z.string(),
  sourceHandle: z.string(),
  targetBlockId: z.string(),
});

export const inputError = z.object({
  blockId: z.string(),
  blockType: z.string(),
  field: z.string(),
  error: z.string(),
});

export type SkippedItem = z.output<typeof skippedItem>;
export type DeferredEdge = z.output<typeof deferredEdge>;
export type InputError = z.output<typeof inputError>;

function sumOf(operations: readonly DraftOperation[], sizeOf: (operation: DraftOperation) => number): number {
  return operations.reduce((sum, operation) => sum + sizeOf(operation), 0);
}

function nestedBlockCountOf(operation: DraftOperation): number {
  if (operation.operation_type !== 'edit') return 0;
  return Object.keys(operation.params.nestedNodes ?? {}).length;
}

function edgeCountOf(operation: DraftOperation): number {
  const params = operation.params as EditBlockParams | undefined;
  const nestedParams = Object.values(params?.nestedNodes ?? {});
  const sizes = [params, ...nestedParams].flatMap((blockParams) =>
    Object.values(blockParams?.connections ?? {}).map((targets) =>
      Array.isArray(targets) ? targets.length : 1,
    ),
  );
  return sizes.reduce((sum, size) => sum + size, params?.removeEdges?.length ?? 0);
}
