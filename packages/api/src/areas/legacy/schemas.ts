import * as z from 'zod';
import { json, timestamp } from '../common-schemas.ts';

/** The input itself, or an object with `input` and options. */
export const anyBody = z.looseObject({});

export const executionPath = z.strictObject({
  workflowId: z.string().min(1),
  executionId: z.string().min(1).max(128),
});

export const contextPath = executionPath.extend({ contextId: z.string().min(1) });

export const jobPath = z.strictObject({ jobId: z.string().min(1).max(160) });

export const executionResult = z.object({
  success: z.boolean(),
  executionId: z.string(),
  output: json,
  error: z.string().nullable(),
  metadata: z.object({
    duration: z.number().nullable(),
    startTime: timestamp.nullable(),
    endTime: timestamp.nullable(),
  }),
});

export const acceptedJob = z.object({
  success: z.boolean(),
  async: z.boolean(),
  jobId: z.string(),
  executionId: z.string(),
  message: z.string(),
  statusUrl: z.url(),
});

export const execution = z.object({
  executionId: z.string(),
  workflowId: z.string(),
  status: z.string(),
  level: z.enum(['info', 'error']),
  trigger: z.string().nullable(),
  startedAt: timestamp.nullable(),
  endedAt: timestamp.nullable(),
  totalDurationMs: z.number().nullable(),
  cost: z.object({ total: z.number() }).nullable(),
  error: z.string().nullable(),
  finalOutput: json,
  blockOutputs: z.record(z.string(), json).nullable(),
});

export const job = z.object({
  success: z.boolean(),
  taskId: z.string(),
  status: z.enum(['queued', 'processing', 'completed', 'failed', 'cancelled']),
  metadata: z.object({ startedAt: timestamp.nullable(), completedAt: timestamp.nullable() }),
  output: json,
  error: z.string().nullable(),
});

const pausedStatus = z.enum(['paused', 'partially_resumed']);

export const pausedQuery = z.strictObject({ status: pausedStatus.optional() });

const resumeLinks = z.object({
  apiUrl: z.string(),
  uiUrl: z.string().nullable(),
  contextId: z.string(),
  executionId: z.string(),
  workflowId: z.string(),
});

const pausePoint = z.object({
  contextId: z.string(),
  blockId: z.string(),
  response: json,
  registeredAt: timestamp,
  resumeStatus: z.string(),
  snapshotReady: z.boolean(),
  resumeLinks,
  queuePosition: z.null(),
  latestResumeEntry: z.null(),
  parallelScope: z.object({ parallelId: z.string(), branchIndex: z.int() }).nullable(),
  loopScope: z.object({ loopId: z.string(), iteration: z.int() }).nullable(),
});

const pausedFields = z.object({
  id: z.string(),
  workflowId: z.string(),
  executionId: z.string(),
  status: pausedStatus,
  totalPauseCount: z.int(),
  resumedCount: z.int(),
  pausedAt: timestamp,
  updatedAt: timestamp,
  expiresAt: z.null(),
  metadata: z.record(z.string(), json),
  triggerIds: z.array(z.string()),
});

export const pausedExecution = pausedFields.extend({ pausePoints: z.array(pausePoint) });

export const pausedList = z.object({ pausedExecutions: z.array(pausedExecution) });

/** Answers are accepted immediately, so the queue is always empty. */
export const pauseContext = z.object({
  execution: pausedFields,
  pausePoint,
  queue: z.array(json),
  activeResumeEntry: z.null(),
});
