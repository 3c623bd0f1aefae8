import type { BlockLog, RunRecord } from '@heddle/core';
import { isEnded } from '../store/journal.ts';
import { foldRun } from './fold.ts';
import type { Definitions } from '../definitions.ts';
import type { SharedStores } from '../store/stores.ts';

interface Parts {
  stores: SharedStores;
  definitions: Definitions;
}

/** The record of a run that is not in memory; one that stopped before its first was written is read from its journal. */
export async function storedRecord(parts: Parts, runId: string): Promise<RunRecord | undefined> {
  return (await parts.stores.runs.record(runId)) ?? (await folded(parts, runId, undefined))?.record;
}

/** The run as its journal has it, which grows a moment before the record does. */
export async function latestRecord(parts: Parts, runId: string): Promise<RunRecord | undefined> {
  const record = await storedRecord(parts, runId);
  if (!record || (await parts.stores.runs.tail(runId, record.seq)).length === 0) return record;
  return (await folded(parts, runId, record.suspended))?.record;
}

/** Says in the run's record why it does not move, unless it has ended; record and logs are those of its journal, if that can be read. */
export async function recordSuspension(parts: Parts, runId: string, why: string): Promise<void> {
  const { runs } = parts.stores;
  const stored = await runs.record(runId);
  if (stored && isEnded(stored.status)) return;
  const whole = await folded(parts, runId, why).catch(() => undefined);
  if (whole) await runs.saveRecord(whole.record, whole.logs);
  else {
    const known = stored ?? (await withoutPlan(parts, runId));
    if (known) await runs.saveRecord({ ...known, suspended: why }, []);
  }
}

async function folded(
  { stores: { runs }, definitions }: Parts,
  runId: string,
  suspended: string | undefined,
): Promise<{ record: RunRecord; logs: BlockLog[] } | undefined> {
  const header = await runs.header(runId);
  if (!header) return undefined;
  const plan = await definitions.plan(header.planHash);
  return foldRun({ header, plan, suspended }, await runs.journal(runId));
}

/** What is known of a run whose plan cannot be read: that there is one. */
async function withoutPlan({ stores: { runs } }: Parts, runId: string): Promise<RunRecord | undefined> {
  const header = await runs.header(runId);
  const [first] = await runs.journal(runId);
  if (!header || first?.type !== 'started') return undefined;
  return {
    runId,
    ...(header.callerId !== undefined && { callerId: header.callerId }),
    workflowId: header.workflowId,
    workflowName: header.workflowId,
    status: 'running',
    pauseKind: undefined,
    createdMs: header.createdMs,
    startedMs: first.atMs,
    endedMs: undefined,
    input: first.input,
    output: undefined,
    error: undefined,
    pauses: [],
    parentRunId: header.parent?.runId,
    seq: first.seq,
    suspended: undefined,
  };
}
