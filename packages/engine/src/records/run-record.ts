import type { RunHeader, RunRecord } from '@heddle/core';
import type { RunState, StoredValue } from '@heddle/core/run';

/**
 * Returns the record of a run in this state. `suspensionReason`: the reason why the run does not
 * continue.
 */
export function recordOf(
  runState: RunState,
  header: RunHeader,
  suspensionReason: string | undefined,
): RunRecord {
  const idleState = runState.idleState();
  const endStatus = idleState === 'ended' ? (runState.machineState.end?.status ?? 'failed') : undefined;
  const pauseKind = idleState === 'human' || idleState === 'time' ? idleState : undefined;
  return {
    ...identityOf(header),
    workflowName: runState.plan.workflow.name,
    status: endStatus ?? (pauseKind ? 'paused' : 'running'),
    pauseKind,
    createdMs: header.createdMs,
    startedMs: runState.startedMs,
    endedMs: runState.endedMs,
    input: runState.ledger.input,
    output: runState.ledger.output,
    error: runState.error,
    pauses: [...runState.pauses.values()].sort((a, b) => a.pausedMs - b.pausedMs),
    ...(runState.resumedCount > 0 && { resumedCount: runState.resumedCount }),
    parentRunId: header.parent?.runId,
    seq: runState.seq,
    suspended: endStatus ? undefined : suspensionReason,
  };
}

/** Returns the record of a run from its start alone. `seq`: number of journal entries that the record includes. */
export function newRecord(
  header: RunHeader,
  start: { workflowName: string; startedMs: number; input: StoredValue; seq: number },
): RunRecord {
  const { workflowName, startedMs, input, seq } = start;
  return {
    ...identityOf(header),
    workflowName,
    status: 'running',
    pauseKind: undefined,
    createdMs: header.createdMs,
    startedMs,
    endedMs: undefined,
    input,
    output: undefined,
    error: undefined,
    pauses: [],
    parentRunId: header.parent?.runId,
    seq,
    suspended: undefined,
  };
}

function identityOf({
  runId,
  callerId,
  workflowId,
}: RunHeader): Pick<RunRecord, 'runId' | 'callerId' | 'workflowId'> {
  return { runId, ...(callerId !== undefined && { callerId }), workflowId };
}
