import type { Json } from '@heddle/core';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { RunDetail, RunResource } from '@heddle/engine';
import type { Reservation } from '../../ports.ts';
import { replaceEngineRunId } from './ids.ts';
import type { RunIds } from './ids.ts';
import { waitingCalls } from './schemas.ts';
import type { RunErrorCode, RunResult } from './schemas.ts';

type Failure = NonNullable<RunResource['error']>;

/** Maps codes of the engine to codes of the API. For other errors, the code of the API depends on the block. */
const API_CODES: { [code: string]: RunErrorCode } = {
  RUN_TIMEOUT: 'TIMEOUT',
  CANCELLED: 'CANCELLED',
  INPUT_INVALID: 'INVALID_INPUT',
  CHILD_FAILED: 'CHILD_WORKFLOW_FAILED',
};

/** Returns why a run failed: a code of the API, with the engine's code and the failed block in the details. */
export function errorOf(error: Failure | null): RunResult['error'] {
  if (!error) return null;
  const details = detailsOf(error.details);
  const { blockType } = details;
  const isChild = typeof blockType === 'string' && blockType.startsWith('workflow');
  const defaultCode = details['blockId'] === undefined ? 'EXECUTION_FAILED' : 'BLOCK_EXECUTION_FAILED';
  const blockCode = isChild ? 'CHILD_WORKFLOW_FAILED' : defaultCode;
  const engineCode = Object.hasOwn(API_CODES, error.code) ? API_CODES[error.code] : undefined;
  return {
    code: engineCode ?? blockCode,
    message: error.message,
    details: { ...details, reason: error.code },
  };
}

/** Returns the result of a run as responses show it. */
export function resultOf(resource: RunResource, blockOutputs: RunResult['blockOutputs']): RunResult {
  const { runId, workflowId, status, output, startedAt, endedAt, durationMs } = resource;
  return {
    runId,
    workflowId,
    status,
    output,
    blockOutputs,
    error: errorOf(resource.error),
    startedAt,
    endedAt,
    durationMs,
  };
}

/** Returns a run that exists only as a reservation: queued, or failed before it started. */
export function unstartedRun(
  reservation: Reservation,
): RunResult & { trigger: string; paused: null; cost: null } {
  const { runId, workflowId, createdAt: startedAt, trigger, failure = null } = reservation;
  const endedAt = failure === null ? null : startedAt;
  const status = failure === null ? 'queued' : failure.reason === 'CANCELLED' ? 'cancelled' : 'failed';
  const error = failure && status === 'failed' ? { code: failure.reason, message: failure.message } : null;
  return {
    ...{ runId, workflowId, status, trigger, startedAt, endedAt, error },
    ...{ durationMs: null, output: null, blockOutputs: null, paused: null, cost: null },
  };
}

/**
 * Returns why the run waits; null for a run that is not paused. If `mayResume`, the result has the token of the first
 * pause point that waits for a person, and the tool calls of an agent that this pause point asks about.
 */
export function pauseStateOf(foundRun: RunIds & { run: RunDetail }, mayResume: boolean) {
  const { run } = foundRun;
  const { pauses, resumedCount } = run;
  const pause = pauses.find(({ kind }) => kind === 'human') ?? pauses[0];
  if (run.status !== 'paused' || !pause) return null;
  return {
    contextId: mayResume && pause.kind === 'human' ? pause.token : null,
    pausedAt: pause.pausedAt,
    resumeAt: pause.resumesAt,
    pauseKind: pause.kind,
    blockedOnBlockId: pause.blockId,
    automaticResumeWaitingReason: waitingReason(run.suspended && replaceEngineRunId(foundRun, run.suspended)),
    pausePointCount: pauses.length + resumedCount,
    resumedCount,
    calls: mayResume ? callsOf(pause.output) : null,
  };
}

/** Returns the tool calls of an agent that a pause asks about; null if it asks about something else. */
function callsOf(output: Json) {
  const calls = isJsonObject(output) ? getOwn(output, 'calls') : undefined;
  return waitingCalls.safeParse(calls).data ?? null;
}

const MAX_REASON_LENGTH = 500;
/** A host and a port. */
const ADDRESS_PATTERN = /\S:\d{2,5}\b/;

/** Returns why a run is suspended. A reason with an address is only for the operator, who can read the stored run. */
function waitingReason(reason: string | null): string | null {
  if (reason === null || !ADDRESS_PATTERN.test(reason)) return reason?.slice(0, MAX_REASON_LENGTH) ?? null;
  return 'The service cannot continue the run for now.';
}

/** Returns the kind of trigger that started a run. */
export function triggerOf(run: Pick<RunDetail, 'parentRunId'>, reservation: Reservation | undefined): string {
  return reservation?.trigger ?? (run.parentRunId === null ? 'api' : 'workflow');
}

function detailsOf(details: Json | undefined): { [name: string]: Json } {
  if (typeof details !== 'object' || details === null || Array.isArray(details)) return {};
  return details;
}

/** Returns the id of an accepted run, and the URL of its status. */
export function acceptedRunOf(workflowId: string, runId: string, origin: string) {
  const path = `${encodeURIComponent(workflowId)}/runs/${encodeURIComponent(runId)}`;
  return { runId, statusUrl: `${origin}/api/v2/workflows/${path}` };
}
