import * as z from 'zod';
import { cursor, json, order, pageLimit, timestamp } from '../common-schemas.ts';

/** Every status of a run in responses. */
export const RUN_STATUSES = [
  'queued',
  'pending',
  'running',
  'redacting',
  'completed',
  'failed',
  'cancelled',
  'paused',
] as const;

/** Codes of failed runs. The details contain the engine's code. */
export const RUN_ERROR_CODES = [
  'TIMEOUT',
  'CANCELLED',
  'USAGE_LIMIT_EXCEEDED',
  'INVALID_INPUT',
  'BLOCK_EXECUTION_FAILED',
  'CHILD_WORKFLOW_FAILED',
  'EXECUTION_FAILED',
] as const;

export type RunErrorCode = (typeof RUN_ERROR_CODES)[number];

export const RUN_ID_PATTERN = /^[A-Za-z0-9._:-]{1,128}$/;

const blockId = z.string().min(1).max(128);
const iterations = z.array(z.int().min(0).max(2_147_483_647)).min(1).max(100).optional().meta({
  description:
    'For a block inside loops or parallels: the indexes of the iterations or branches around it, outermost first',
});
const triggerEntry = z.strictObject({
  type: z.literal('trigger'),
  blockId: blockId.optional(),
  useMockPayload: z.boolean().optional(),
});
const blockEntry = z.strictObject({
  type: z.literal('block'),
  blockId: z.string().min(1),
  sourceRunId: z.string().min(1),
  iterations,
});

/** Maximum size in bytes of a file that a response contains as Base64. It can only lower the server's limit. */
const base64MaxBytes = z.int().min(1).max(16_777_216);

const runSource = z.discriminatedUnion('source', [
  z.strictObject({
    source: z.literal('deployment'),
    entry: z.strictObject({ type: z.literal('trigger'), blockId }).optional(),
  }),
  z.strictObject({
    source: z.literal('manual'),
    entry: z.discriminatedUnion('type', [triggerEntry, blockEntry]).optional(),
  }),
]);

export const executeBody = z
  .strictObject({
    input: z.record(z.string(), json).optional(),
    run: runSource.optional(),
    stopAfterBlockId: blockId.optional(),
    async: z.boolean().default(false),
    stream: z.boolean().default(false),
    executionTimeoutSeconds: z.int().min(1).max(604_800).optional(),
    selectedOutputs: z.array(z.string().min(1)).max(100).optional(),
    includeThinking: z.boolean().default(false),
    includeToolCalls: z.boolean().default(false),
    includeFileBase64: z.boolean().optional(),
    base64MaxBytes: base64MaxBytes.optional(),
  })
  .meta({
    examples: [{ input: { name: 'Ada' } }, { async: true, input: { name: 'Ada' } }, { stream: true }],
  });

export type ExecuteBody = z.output<typeof executeBody>;

const runError = z.object({ code: z.enum(RUN_ERROR_CODES), message: z.string(), details: json.optional() });
const outputs = z.record(z.string(), json);

export const runResult = z.object({
  runId: z.string(),
  workflowId: z.string(),
  status: z.enum(RUN_STATUSES),
  output: json,
  blockOutputs: outputs.nullable(),
  error: runError.nullable(),
  startedAt: timestamp.nullable(),
  endedAt: timestamp.nullable(),
  durationMs: z.number().min(0).nullable(),
});

export type RunResult = z.output<typeof runResult>;

export const acceptedRun = z.object({ runId: z.string(), statusUrl: z.url() });

export const runPath = z.strictObject({ workflowId: z.string().min(1), runId: z.string().min(1).max(128) });

export const runFilePath = runPath.extend({ fileId: z.string().min(1).max(256) });

export const runQuery = z.strictObject({
  includeOutput: z.boolean().default(false),
  selectedOutputs: z.array(z.string().min(1)).max(100).optional(),
  includeFileBase64: z.boolean().optional(),
  base64MaxBytes: base64MaxBytes.optional(),
});

export type RunQuery = z.output<typeof runQuery>;

const runFile = z.object({
  id: z.string(),
  name: z.string(),
  size: z.int().min(0),
  type: z.string(),
  downloadPath: z.string(),
  base64: z.string().optional(),
});

export type RunFile = z.output<typeof runFile>;

/** The tool calls of an agent that a pause asks about. */
export const waitingCalls = z.array(
  z.object({
    id: z.string(),
    name: z.string(),
    arguments: z.record(z.string(), json),
    parameters: z.record(z.string(), json),
  }),
);

const pauseState = z.object({
  contextId: z.string().nullable(),
  pausedAt: timestamp,
  resumeAt: timestamp.nullable(),
  pauseKind: z.enum(['time', 'human']).nullable(),
  blockedOnBlockId: z.string().nullable(),
  automaticResumeWaitingReason: z.string().nullable(),
  pausePointCount: z.int().min(0),
  resumedCount: z.int().min(0),
  calls: waitingCalls.nullable(),
});

export const runStatus = runResult.extend({
  trigger: z.string().nullable(),
  paused: pauseState.nullable(),
  cost: z.object({ total: z.number() }).nullable(),
  files: z.array(runFile).nullable(),
});

export const runsQuery = z.strictObject({
  status: z.enum(['pending', 'running', 'completed', 'failed', 'cancelled', 'paused']).optional(),
  trigger: z.string().min(1).optional(),
  startDate: timestamp.optional(),
  endDate: timestamp.optional(),
  limit: pageLimit(100, 50),
  cursor,
  order: order.default('desc'),
});

/** The engine's cursor. */
export const runsPosition = z.tuple([z.string()]);

export const runItem = z.object({
  runId: z.string(),
  workflowId: z.string(),
  status: z.enum(RUN_STATUSES),
  trigger: z.string(),
  startedAt: timestamp,
  endedAt: timestamp.nullable(),
  durationMs: z.number().nullable(),
  cost: z.object({ total: z.number() }).nullable(),
});

export const resumeBody = z.strictObject({ contextId: z.string().min(1), input: json.optional() });

export const rerunBody = z.strictObject({
  blockId: blockId.optional().meta({ description: 'Where to start; default: at the beginning' }),
  iterations,
  version: z.enum(['run', 'live']).optional().meta({
    description:
      'The definition of the earlier run, or the live one. Default: `run` with `blockId`, else `live`',
  }),
  input: z.record(z.string(), json).optional().meta({ description: 'Default: the input of the earlier run' }),
  fields: z
    .record(z.string().min(1).max(128), json)
    .optional()
    .meta({ description: 'Values that replace resolved fields of the block, for users only' }),
  outputs: z.record(blockId, z.record(z.string(), json)).optional().meta({
    description: 'Outputs that replace the reused outputs of earlier blocks, by the id of the block',
  }),
});

export type RerunBody = z.output<typeof rerunBody>;

export const cancelResult = z.object({
  success: z.boolean(),
  runId: z.string(),
  redisAvailable: z.boolean(),
  durablyRecorded: z.boolean(),
  locallyAborted: z.boolean(),
  pausedCancelled: z.boolean(),
  reason: z.string(),
});

export const previewQuery = z.strictObject({
  blockId: z.string().min(1).max(128),
  sourceRunId: z.string().min(1).max(128),
  iterations: z
    .array(z.string().regex(/^\d{1,10}$/))
    .max(100)
    .optional()
    .meta({
      description:
        'For a block inside loops or parallels: the indexes of the iterations or branches around it, outermost first, separated by commas',
    }),
});

const previewedBlock = z.object({ blockId: z.string(), name: z.string(), type: z.string() });

export const runPreview = z.object({
  workflowId: z.string(),
  sourceRunId: z.string(),
  startBlockId: z.string(),
  validation: z.object({ valid: z.boolean(), error: z.string().optional() }),
  rerunBlocks: z.array(previewedBlock.extend({ executedInSource: z.boolean() })),
  upstreamBlocks: z.array(
    previewedBlock.extend({ executedInSource: z.boolean(), hasCachedOutput: z.boolean() }),
  ),
  notes: z.array(z.string()),
});
