import type { BlockLog, RunRecord } from '@heddle/core';
import type { Definitions } from '../definitions.ts';
import { isEnded } from '../store/journal.ts';
import type { SharedStores } from '../store/stores.ts';
import { foldRun } from './fold.ts';
import { newRecord } from './run-record.ts';

interface Parts {
  stores: SharedStores;
  definitions: Definitions;
}

/**
 * Returns the record of a run that is not in memory. If no record has been written yet, it is computed from the
 * journal.
 */
export async function storedRecord(parts: Parts, runId: string): Promise<RunRecord | undefined> {
  return (await parts.stores.runs.record(runId)) ?? (await foldStored(parts, runId, undefined))?.record;
}

/** Returns the record of a run including its last journal entry, which may be newer than the stored record. */
export async function latestRecord(parts: Parts, runId: string): Promise<RunRecord | undefined> {
  const record = await storedRecord(parts, runId);
  if (!record || (await parts.stores.runs.tail(runId, record.seq)).length === 0) return record;
  return (await foldStored(parts, runId, record.suspended))?.record;
}

/**
 * Writes to the record of a run why it does not continue, unless the run has ended. Updates record and logs to the end
 * of the journal if the journal can be read.
 */
export async function recordSuspension(parts: Parts, runId: string, reason: string): Promise<void> {
  const { runs } = parts.stores;
  const stored = await runs.record(runId);
  if (stored && isEnded(stored.status)) return;
  const run = await foldStored(parts, runId, reason).catch(() => undefined);
  if (run) await runs.saveRecord(run.record, run.logs);
  else {
    const record = stored ?? (await recordWithoutPlan(parts, runId));
    if (record) await runs.saveRecord({ ...record, suspended: reason }, []);
  }
}

async function foldStored(
  { stores: { runs }, definitions }: Parts,
  runId: string,
  suspended: string | undefined,
): Promise<{ record: RunRecord; logs: BlockLog[] } | undefined> {
  const header = await runs.header(runId);
  if (!header) return undefined;
  const plan = await definitions.plan(header.planHash);
  return foldRun({ header, plan, suspended }, await runs.journal(runId));
}

/** Returns the record of a run whose plan cannot be read, from its header and its first entry. */
async function recordWithoutPlan({ stores: { runs } }: Parts, runId: string): Promise<RunRecord | undefined> {
  const header = await runs.header(runId);
  const [first] = await runs.journal(runId);
  if (!header || first?.type !== 'started') return undefined;
  const { atMs: startedMs, input, seq } = first;
  return newRecord(header, { workflowName: header.workflowId, startedMs, input, seq });
}
