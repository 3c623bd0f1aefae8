import * as z from 'zod';
import { json, timestamp } from '../shapes.ts';

const STATUS = z.enum(['paused', 'partially_resumed']);

export const pausedQuery = z.strictObject({ status: STATUS.optional() });

const links = z.object({
  apiUrl: z.string(),
  uiUrl: z.null(),
  contextId: z.string(),
  executionId: z.string(),
  workflowId: z.string(),
});

const point = z.object({
  contextId: z.string(),
  blockId: z.string(),
  response: json,
  registeredAt: timestamp,
  resumeStatus: z.string(),
  snapshotReady: z.boolean(),
  resumeLinks: links,
  queuePosition: z.null(),
  latestResumeEntry: z.null(),
  parallelScope: z.object({ parallelId: z.string(), branchIndex: z.int() }).nullable(),
  loopScope: z.object({ loopId: z.string(), iteration: z.int() }).nullable(),
});

const execution = z.object({
  id: z.string(),
  workflowId: z.string(),
  executionId: z.string(),
  status: STATUS,
  totalPauseCount: z.int(),
  resumedCount: z.int(),
  pausedAt: timestamp,
  updatedAt: timestamp,
  expiresAt: z.null(),
  metadata: z.record(z.string(), json),
  triggerIds: z.array(z.string()),
});

export const pausedExecution = execution.extend({ pausePoints: z.array(point) });

export const pausedList = z.object({ pausedExecutions: z.array(pausedExecution) });

/** Answers are taken at once, so nothing ever waits in the queue. */
export const pauseContext = z.object({
  execution,
  pausePoint: point,
  queue: z.array(json),
  activeResumeEntry: z.null(),
});
