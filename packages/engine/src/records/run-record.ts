import type { RunHeader, RunRecord } from '@heddle/core';
import type { Replica, StoredValue } from '@heddle/core/run';

/**
 * Returns the record of a run in the state of its replica. `suspensionReason`: the reason why the run does not
 * continue.
 */
export function recordOf(
  replica: Replica,
  header: RunHeader,
  suspensionReason: string | undefined,
): RunRecord {
  const idleState = replica.idleState();
  const endStatus = idleState === 'ended' ? (replica.state.end?.status ?? 'failed') : undefined;
  const pauseKind = idleState === 'human' || idleState === 'time' ? idleState : undefined;
  return {
    ...identityOf(header),
    workflowName: replica.plan.workflow.name,
    status: endStatus ?? (pauseKind ? 'paused' : 'running'),
    pauseKind,
    createdMs: header.createdMs,
    startedMs: replica.startedMs,
    endedMs: replica.endedMs,
    input: replica.ledger.input,
    output: replica.ledger.output,
    error: replica.error,
    pauses: [...replica.pauses.values()].sort((a, b) => a.pausedMs - b.pausedMs),
    ...(replica.resumedCount > 0 && { resumedCount: replica.resumedCount }),
    parentRunId: header.parent?.runId,
    seq: replica.seq,
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
