import { cursor, pageLimit, timestamp, workspaceId } from '@heddle/api/areas';
import * as z from 'zod';

/** Maximum number of runs of one backfill. */
export const MAX_BACKFILL_RUNS = 1000;

export const triggerPath = z.strictObject({ triggerId: z.string().min(1).max(128) });

export const listQuery = z.strictObject({
  workspaceId,
  workflowId: z.string().min(1).max(128).optional(),
  type: z.string().min(1).max(128).optional().describe('Type of the block, such as schedule'),
  limit: pageLimit(100, 50),
  cursor,
});

export const triggerPosition = z.tuple([z.string()]);

const instant = z.iso.datetime({ offset: true });

export const backfillBody = z
  .strictObject({
    from: instant.describe('The earliest due time'),
    to: instant.describe('The latest due time; not in the future'),
    limit: z
      .int()
      .min(1)
      .max(MAX_BACKFILL_RUNS)
      .default(100)
      .describe('Maximum number of due times. If there are more, nothing is started'),
  })
  .refine(({ from, to }) => Date.parse(from) <= Date.parse(to), {
    message: 'from must not be after to',
    path: ['from'],
  });

const state = z.enum(['active', 'paused', 'suspended']);

export const triggerItem = z.strictObject({
  id: z.string(),
  workflowId: z.string(),
  workflowName: z.string(),
  blockId: z.string(),
  name: z.string().describe('Name of the block'),
  type: z.string(),
  version: z.int().describe('The live version for which the trigger is active'),
  state,
  configuration: z.record(z.string(), z.json()),
  nextDueAt: timestamp.nullable(),
  waitsFor: z
    .enum(['overlap', 'limits'])
    .nullable()
    .describe('What the due time waits for: the end of the previous run, or limits'),
  lastDueAt: timestamp.nullable(),
  lastRunId: z.string().nullable(),
  health: z.strictObject({
    lastCheckAt: timestamp.nullable(),
    lastEventAt: timestamp.nullable().describe('When the trigger last started a run'),
    expiresAt: timestamp
      .nullable()
      .describe('When the webhook at the provider expires unless it is renewed; null: it does not expire'),
    lastError: z.string().nullable(),
    failures: z.int().describe('Number of consecutive failures'),
    failingSince: timestamp.nullable(),
  }),
});

export const eventsQuery = z.strictObject({ limit: pageLimit(100, 50), cursor });

export const eventPosition = z.tuple([z.number(), z.string()]);

export const flowState = z
  .enum(['waiting', 'started', 'merged', 'dropped'])
  .describe(
    'Whether the event waits for its run to start, has started it, was replaced by a later event, or starts no run',
  );

export const flowReason = z
  .string()
  .nullable()
  .describe('What the event waits for, such as concurrency, or why it was merged or dropped');

export const eventItem = z.strictObject({
  id: z.string(),
  source: z.enum(['schedule', 'webhook', 'event', 'feed']),
  key: z.string().describe('The value by which events are grouped'),
  state: flowState,
  reason: flowReason,
  runId: z
    .string()
    .describe('The run that the event starts; for a dropped event, the run that caused the drop'),
  receivedAt: timestamp,
  decidedAt: timestamp.nullable(),
});

export const startedRun = z.strictObject({ runId: z.string(), workflowId: z.string() });

export const backfillResult = z.strictObject({
  started: z.array(z.strictObject({ dueAt: timestamp, runId: z.string() })),
  alreadyStarted: z.int().describe('Number of due times whose runs had already been started'),
  refused: z
    .string()
    .nullable()
    .describe('Why no further runs were started. The same request can start them later'),
});
