import * as z from 'zod';
import { json, timestamp } from '../shapes.ts';

/** The input itself, or an object with `input` and a few options. */
export const anyBody = z.looseObject({});

export const executionPath = z.strictObject({
  workflowId: z.string().min(1),
  executionId: z.string().min(1).max(128),
});

export const contextPath = executionPath.extend({ contextId: z.string().min(1) });

export const jobPath = z.strictObject({ jobId: z.string().min(1).max(160) });

export const executed = z.object({
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

export const accepted = z.object({
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
