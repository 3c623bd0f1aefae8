import { cursor, json, pageLimit } from '@heddle/api/areas';
import * as z from 'zod';
import { logPath } from '../schemas.ts';

export { logPath };

const timestamp = z.iso.datetime();
const SPAN_STATUSES = ['running', 'completed', 'failed', 'paused', 'cancelled'] as const;
const spanStatus = z.enum(SPAN_STATUSES);
/** The id of a span: ids of blocks, and numbers of iterations and branches, separated by slashes. */
const spanId = z.string().max(4096);
const count = z.int().min(0);

export const overview = z.object({
  runId: z.string(),
  workspaceId: z.string(),
  workflow: z.object({
    id: z.string().nullable(),
    name: z.string(),
    description: z.string().nullable(),
    deleted: z.boolean(),
  }),
  version: z.int().nullable(),
  trigger: z.string(),
  status: z.enum(['queued', 'pending', 'running', 'redacting', 'completed', 'failed', 'cancelled', 'paused']),
  createdAt: timestamp,
  startedAt: timestamp.nullable(),
  endedAt: timestamp.nullable(),
  durationMs: z.number().nullable(),
  cost: z.number().nullable().meta({ description: 'USD' }),
  error: z
    .object({
      code: z.string(),
      message: z.string(),
      blockId: z.string().nullable(),
      blockName: z.string().nullable(),
    })
    .nullable(),
  files: z
    .array(
      z.object({
        id: z.string(),
        name: z.string(),
        size: count,
        type: z.string(),
        downloadPath: z.string(),
      }),
    )
    .nullable(),
  parent: z.object({ runId: z.string(), workflowId: z.string() }).nullable(),
  pauses: z.array(
    z.object({
      blockId: z.string(),
      blockName: z.string(),
      scope: z.array(z.int()),
      kind: z.enum(['human', 'time']),
      pausedAt: timestamp,
      resumesAt: timestamp.nullable(),
      inputFormat: json,
      contextId: z.string().nullable().meta({ description: 'Null for callers who may not resume' }),
      output: json,
    }),
  ),
  mayResume: z.boolean(),
  children: z.array(
    z.object({ runId: z.string(), workflowId: z.string(), blockId: z.string(), status: z.string() }),
  ),
  childCount: count,
  graph: z.object({
    blocks: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        type: z.string(),
        enabled: z.boolean(),
        position: z.object({ x: z.number(), y: z.number() }).nullable(),
        parentId: z.string().nullable(),
        width: z.number().nullable(),
        height: z.number().nullable(),
        ports: z.array(z.object({ id: z.string(), title: z.string() })),
      }),
    ),
    edges: z.array(z.object({ source: z.string(), target: z.string(), port: z.string() })),
  }),
});

export const spansQuery = z.strictObject({
  under: spanId.optional().meta({ description: 'Only the spans inside this span' }),
  direct: z.boolean().optional().meta({ description: 'Only the spans directly inside' }),
  status: spanStatus.optional(),
  blockId: z.string().min(1).max(256).optional(),
  index: count.optional().meta({ description: 'Only iterations and branches with this number' }),
  limit: pageLimit(1000, 200),
  cursor,
});

/** The position of the next span. */
export const spanPosition = z.tuple([count]);

export const span = z.object({
  id: z.string(),
  parentId: z.string(),
  depth: count,
  name: z.string(),
  type: z.string(),
  status: spanStatus,
  startTime: timestamp,
  endTime: timestamp.nullable(),
  durationMs: z.number().nullable(),
  relativeStartMs: z.number(),
  blockId: z.string().nullable(),
  index: z.int().nullable(),
  executionOrder: z.int().nullable(),
  attempts: z.int().nullable(),
  errorHandled: z.boolean(),
  error: z
    .object({
      type: z.string(),
      message: z.string(),
      line: z.int().min(1).nullable().meta({ description: 'The line of the code of the block, from 1' }),
    })
    .nullable(),
  inputBytes: count.nullable(),
  outputBytes: count.nullable(),
  childCount: count,
});

const counts = z.object({
  total: count,
  running: count,
  paused: count,
  completed: count,
  failed: count,
  cancelled: count,
});

export const statesQuery = z.strictObject({
  scope: spanId.default('').meta({ description: 'The span of an iteration or branch' }),
});

export const states = z.object({
  status: spanStatus.meta({ description: 'The status of the run when the states were read' }),
  blocks: z.array(
    counts.extend({
      blockId: z.string(),
      handled: count,
      spanId: z.string(),
      status: spanStatus,
      durationMs: z.number().nullable(),
      iterations: counts.nullable(),
    }),
  ),
});

const MAX_OFFSET = 2 ** 31 - 1;
const valueSelection = {
  spanId: spanId.default('').meta({ description: 'Empty: the run itself' }),
  part: z.enum(['input', 'output']),
  path: z.string().max(4096).default('').meta({ description: 'A JSON pointer into the value (RFC 6901)' }),
};

export const valueQuery = z.strictObject({
  ...valueSelection,
  offset: z.int().min(0).max(MAX_OFFSET).default(0).meta({ description: 'Where the text begins' }),
  entry: z.int().min(0).max(MAX_OFFSET).default(0).meta({ description: 'The number of the first entry' }),
});

export const downloadQuery = z.strictObject(valueSelection);

const kind = z.enum(['object', 'array', 'string', 'number', 'boolean', 'null']);

export const valuePage = z.object({
  kind,
  bytes: count.meta({ description: 'Size of the whole value as JSON text' }),
  size: count.nullable().meta({ description: 'Number of entries of an array or object' }),
  entries: z.array(z.object({ key: z.string(), kind, preview: z.string() })),
  nextEntry: count.nullable(),
  text: z.string().meta({ description: 'JSON text, at most 65,536 characters' }),
  nextOffset: count.nullable(),
});
