import { json, workspaceId } from '@heddle/api/areas';
import * as z from 'zod';
import { LOG_STATUSES } from './tables.ts';

const timestamp = z.iso.datetime();

const MAX_DURATION_MS = 2_147_483_647;
const MAX_COST_USD = 1_000_000;
export const MAX_WORKFLOW_IDS = 200;
export const MAX_FOLDER_PATHS = 100;
export const MAX_TRIGGERS = 100;
/** Maximum number of characters of a list of ids or names. */
const MAX_LIST_CHARS = 32_768;

const commaSeparatedList = (maxValues: number) =>
  z
    .string()
    .min(1)
    .max(MAX_LIST_CHARS)
    .optional()
    .meta({ description: `At most ${maxValues} values, separated by commas` });

const folderPaths = z
  .string()
  .min(1)
  .max(MAX_LIST_CHARS)
  .optional()
  .meta({ description: `At most ${MAX_FOLDER_PATHS} paths, separated by commas; each covers its subtree` });

const level = z.enum(['info', 'error']);

export const logsQuery = z.strictObject({
  workspaceId,
  workflowIds: commaSeparatedList(MAX_WORKFLOW_IDS),
  folderPaths,
  triggers: commaSeparatedList(MAX_TRIGGERS),
  level: level.optional(),
  status: commaSeparatedList(LOG_STATUSES.length),
  workflowName: z.string().min(1).max(200).optional(),
  includeJobRuns: z.boolean().default(false),
  startDate: timestamp.optional(),
  endDate: timestamp.optional(),
  runId: z.string().min(1).max(128).optional(),
  minDurationMs: z.int().min(0).max(MAX_DURATION_MS).optional(),
  maxDurationMs: z.int().min(0).max(MAX_DURATION_MS).optional(),
  minCost: z.number().min(0).max(MAX_COST_USD).optional(),
  maxCost: z.number().min(0).max(MAX_COST_USD).optional(),
  model: z.string().min(1).max(200).optional(),
  details: z.enum(['basic', 'full']).default('basic'),
  includeTraceSpans: z.boolean().default(false),
  includeFinalOutput: z.boolean().default(false),
  limit: z
    .int()
    .default(100)
    .meta({ description: 'From 1 to 1000; other numbers are clamped to this range' }),
  cursor: z.string().min(1).max(4096).optional(),
  sortBy: z.enum(['startedAt', 'durationMs', 'cost', 'status']).default('startedAt'),
  sortOrder: z.enum(['asc', 'desc']).default('desc'),
});

export type LogsQuery = z.output<typeof logsQuery>;

export const searchQuery = logsQuery
  .omit({
    ...{ includeJobRuns: true, details: true, includeTraceSpans: true, includeFinalOutput: true },
    ...{ limit: true, sortBy: true, sortOrder: true },
  })
  .extend({
    text: z.string().min(1).max(200).meta({ description: 'The text to find, case-insensitive' }),
    in: z.enum(['any', 'input', 'output', 'error']).default('any').meta({
      description: 'The input or output of the run, or an error of the run or of one of its blocks',
    }),
  });

export type SearchQuery = z.output<typeof searchQuery>;

export const statsQuery = z.strictObject({
  workspaceId,
  workflowIds: commaSeparatedList(MAX_WORKFLOW_IDS),
  folderPaths,
  triggers: commaSeparatedList(MAX_TRIGGERS),
  level: level.optional(),
  startDate: timestamp.optional(),
  endDate: timestamp.optional(),
  segmentCount: z.int().min(1).max(500).default(72),
  percentiles: z.boolean().default(false).meta({ description: 'Also the median and the 99th percentile' }),
});

export type StatsQuery = z.output<typeof statsQuery>;

/** The value that the last row of a page is sorted by, and its id. */
export const logPosition = z.tuple([z.union([z.number(), z.string().max(32)]), z.string().min(1).max(256)]);

export const logPath = z.strictObject({ runId: z.string().min(1).max(128) });

const file = z.object({
  id: z.string(),
  name: z.string(),
  size: z.int().min(0),
  type: z.string(),
  downloadPath: z.string(),
});

const amounts = z.object({
  input: z.number().optional(),
  output: z.number().optional(),
  total: z.number().optional(),
});

/** Millionths of a dollar. */
const micros = z.int().min(0);

const traceSpan = z
  .object({
    id: z.string(),
    name: z.string(),
    type: z.string(),
    status: z.string(),
    startTime: timestamp,
    endTime: timestamp.optional(),
    durationMs: z.number().optional(),
    relativeStartMs: z.number(),
    blockId: z.string().optional(),
    errorHandled: z.boolean().optional(),
    errorType: z.string().optional(),
    errorMessage: z.string().optional(),
    input: json.optional(),
    output: json.optional(),
    tokens: amounts.optional(),
    cost: amounts.extend({ toolCost: z.number().optional(), totalMicros: micros.optional() }).optional(),
    toolCalls: z
      .array(
        z.object({
          name: z.string().optional(),
          arguments: json.optional(),
          result: json.optional(),
          error: z.string().optional(),
        }),
      )
      .optional(),
    get children() {
      return z.array(traceSpan).optional();
    },
  })
  .meta({ id: 'TraceSpan' });

const commonFields = z.object({
  runId: z.string(),
  workflowId: z.string().nullable(),
  deploymentVersionId: z.string().nullable(),
  status: z.enum(LOG_STATUSES),
  level,
  trigger: z.string(),
  startedAt: timestamp,
  endedAt: timestamp.nullable(),
  totalDurationMs: z.number().min(0).nullable(),
  cost: z.object({ total: z.number().min(0), totalMicros: micros }).nullable(),
  files: z.array(file).nullable(),
});

const workflow = z.object({
  id: z.string().nullable(),
  name: z.string(),
  description: z.string().nullable(),
  deleted: z.boolean(),
});

export const logEntry = commonFields.extend({
  kind: z.enum(['workflow', 'job']),
  workflow: workflow.optional(),
  finalOutput: json.optional(),
  traceSpans: z.array(traceSpan).optional(),
});

export type LogEntry = z.input<typeof logEntry>;

export const logSearch = z.object({
  matches: z.array(
    z.object({
      run: logEntry,
      in: z.enum(['input', 'output', 'error']),
      blockName: z.string().nullable(),
      preview: z.string(),
    }),
  ),
  searchedRuns: z.int().min(0).meta({ description: 'Runs that this request has read, at most 100' }),
  skippedValues: z.int().min(0).meta({ description: 'Values of more than 1 MiB, which are not searched' }),
  nextCursor: z
    .string()
    .nullable()
    .meta({ description: 'Continues with older runs; null when all are searched' }),
});

export const logDetail = commonFields.extend({
  workflow: workflow.extend({
    folderPath: z.string().nullable(),
    ownerEmail: z.string().nullable(),
    workspaceId: z.string().nullable(),
    createdAt: timestamp.nullable(),
    updatedAt: timestamp.nullable(),
  }),
  workflowState: z
    .looseObject({
      blocks: z.record(z.string(), json),
      edges: z.array(json),
      loops: z.record(z.string(), json),
      parallels: z.record(z.string(), json),
      variables: z.record(z.string(), json),
    })
    .nullable(),
  traceSpans: z.array(traceSpan),
  finalOutput: json,
  workflowInput: json,
  cost: z
    .object({
      total: z.number().min(0),
      totalMicros: micros,
      items: z.array(
        z.object({
          category: z.enum(['fixed', 'model', 'tool']),
          description: z.string(),
          cost: z.number().min(0),
          inputTokens: z.number().optional(),
          outputTokens: z.number().optional(),
        }),
      ),
    })
    .nullable(),
  createdAt: timestamp,
});

const segment = z.object({
  timestamp,
  totalExecutions: z.int().min(0),
  successfulExecutions: z.int().min(0),
  avgDurationMs: z.number().min(0),
});

export const logStats = z.object({
  workflows: z.array(
    z.object({
      workflowId: z.string(),
      workflowName: z.string(),
      segments: z.array(segment),
      totalExecutions: z.int().min(0),
      totalSuccessful: z.int().min(0),
      totalCost: z.number().min(0).meta({ description: 'USD' }),
      overallSuccessRate: z.number().min(0).max(100).meta({ description: 'Percent' }),
    }),
  ),
  workflowsTruncated: z.boolean(),
  aggregateSegments: z.array(segment),
  totalRuns: z.int().min(0),
  totalErrors: z.int().min(0),
  avgLatency: z.number().min(0).meta({ description: 'Milliseconds' }),
  p50Latency: z
    .number()
    .min(0)
    .optional()
    .meta({ description: 'Median, in milliseconds; with `percentiles`' }),
  p99Latency: z
    .number()
    .min(0)
    .optional()
    .meta({ description: '99th percentile, in milliseconds; with `percentiles`' }),
  totalCost: z.number().min(0).meta({ description: 'USD' }),
  timeBounds: z.object({ start: timestamp, end: timestamp }),
  segmentMs: z.int(),
});
