import type { NewRun, RunRecord } from '@heddle/core';
import type { Replica } from '@heddle/core/run';

/** The record of a run as its replica stands. `suspended`: why it does not move though it should. */
export function recordOf(replica: Replica, header: NewRun, suspended: string | undefined): RunRecord {
  const rest = replica.idleState();
  const ended = rest === 'ended' ? (replica.state.end?.status ?? 'failed') : undefined;
  const pauseKind = rest === 'human' || rest === 'time' ? rest : undefined;
  return {
    runId: header.runId,
    ...(header.callerId !== undefined && { callerId: header.callerId }),
    workflowId: header.workflowId,
    workflowName: replica.plan.workflow.name,
    status: ended ?? (pauseKind ? 'paused' : 'running'),
    pauseKind,
    createdMs: header.createdMs,
    startedMs: replica.startedMs,
    endedMs: replica.endedMs,
    input: replica.ledger.input,
    output: replica.ledger.output,
    error: replica.error,
    pauses: [...replica.pauses.values()].sort((a, b) => a.pausedMs - b.pausedMs),
    parentRunId: header.parent?.runId,
    seq: replica.seq,
    suspended: ended ? undefined : suspended,
  };
}
