import type { Json } from '@heddle/core';
import type { Engine, RunDetail, RunResource } from '@heddle/engine';
import type { ReservationRow } from '../../store/schema.ts';
import { textOr } from '../workflows/graph.ts';
import { withCallerIdIn } from './ids.ts';
import type { RunIds } from './ids.ts';
import type { ReservationFailure } from './store.ts';
import type { RunErrorCode, RunResult } from './schemas.ts';

type Failure = NonNullable<RunResource['error']>;

/** Codes of the engine that say of themselves why. */
const CODES: { [code: string]: RunErrorCode } = {
  RUN_TIMEOUT: 'TIMEOUT',
  CANCELLED: 'CANCELLED',
  INPUT_INVALID: 'INVALID_INPUT',
  CHILD_FAILED: 'CHILD_WORKFLOW_FAILED',
};

/** Why a run failed: one of a few codes, with the engine's own and the block at fault in the details. */
export function errorOf(error: Failure | null): RunResult['error'] {
  if (!error) return null;
  const details = detailsOf(error.details);
  const child = textOr(details['blockType'], '').startsWith('workflow');
  const atBlock = details['blockId'] === undefined ? 'EXECUTION_FAILED' : 'BLOCK_EXECUTION_FAILED';
  const byPlace = child ? 'CHILD_WORKFLOW_FAILED' : atBlock;
  const known = Object.hasOwn(CODES, error.code) ? CODES[error.code] : undefined;
  return {
    code: known ?? byPlace,
    message: error.message,
    details: { ...details, reason: error.code },
  };
}

/** A run as those who started it are told what has come of it. */
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

/** How an accepted run stands of which there is nothing but the claim. */
export function unstartedRun(
  claim: ReservationRow,
): RunResult & { trigger: string; paused: null; cost: null } {
  const failure = claim.failure === null ? null : (JSON.parse(claim.failure) as ReservationFailure);
  const { run_id: runId, workflow_id: workflowId, created_at: startedAt, trigger } = claim;
  const ended = failure === null ? null : startedAt;
  const status = failure === null ? 'queued' : failure.reason === 'CANCELLED' ? 'cancelled' : 'failed';
  const error = failure && status === 'failed' ? { code: failure.reason, message: failure.message } : null;
  return {
    ...{ runId, workflowId, status, trigger, startedAt, endedAt: ended, error },
    ...{ durationMs: null, output: null, blockOutputs: null, paused: null, cost: null },
  };
}

/** What the run waits for; `mayResume`: the caller may answer, so the earliest open point is named. */
export async function pausedOf(engine: Engine, found: RunIds & { run: RunDetail }, mayResume: boolean) {
  const { run } = found;
  const { pauses } = run;
  const first = pauses.find(({ kind }) => kind === 'human') ?? pauses[0];
  if (run.status !== 'paused' || !first) return null;
  const logs = await engine.getLogs(run.runId);
  const resumed = logs.filter((log) => log.blockType === 'human_in_the_loop' && log.status === 'completed');
  return {
    contextId: mayResume && first.kind === 'human' ? first.token : null,
    pausedAt: first.pausedAt,
    resumeAt: first.resumesAt,
    pauseKind: first.kind,
    blockedOnBlockId: first.blockId,
    automaticResumeWaitingReason: waitingReason(run.suspended && withCallerIdIn(found, run.suspended)),
    pausePointCount: pauses.length + resumed.length,
    resumedCount: resumed.length,
  };
}

const LONGEST_REASON = 500;
/** A host with its port. */
const ADDRESS = /\S:\d{2,5}\b/;

/** Why a run does not go on. A reason that names an address is the operator's, who finds it in the records. */
function waitingReason(suspended: string | null): string | null {
  if (suspended === null || !ADDRESS.test(suspended)) return suspended?.slice(0, LONGEST_REASON) ?? null;
  return 'The service cannot go on with the run for now.';
}

/** What started a run. */
export function triggerOf(run: Pick<RunDetail, 'parentRunId'>, claim: ReservationRow | undefined): string {
  return claim?.trigger ?? (run.parentRunId === null ? 'api' : 'workflow');
}

function detailsOf(details: Json | undefined): { [name: string]: Json } {
  if (typeof details !== 'object' || details === null || Array.isArray(details)) return {};
  return details;
}

/** What tells where an accepted run can be read. */
export function receiptOf(workflowId: string, runId: string, origin: string) {
  const at = `${encodeURIComponent(workflowId)}/runs/${encodeURIComponent(runId)}`;
  return { runId, statusUrl: `${origin}/api/v2/workflows/${at}` };
}
