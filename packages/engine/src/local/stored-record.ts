import type { RunRecord } from '@heddle/core';
import { Replica } from '@heddle/core/run';
import { isEnded } from '../store/journal.ts';
import { recordOf } from './record.ts';
import type { RuntimeParts } from './runtime-parts.ts';

type Parts = Pick<RuntimeParts, 'stores' | 'definitions'>;

/** The record of a run that is not in memory; one that stopped before its first was written is read from its journal. */
export async function storedRecord(
  { stores: { runs }, definitions }: Parts,
  runId: string,
): Promise<RunRecord | undefined> {
  const record = await runs.record(runId);
  if (record) return record;
  const header = await runs.header(runId);
  if (!header) return undefined;
  const replica = new Replica(runId, await definitions.plan(header.planHash));
  for (const entry of await runs.journal(runId)) replica.apply(entry);
  return recordOf(replica, header, undefined);
}

/** Says in the run's record why it does not move, unless it has ended. */
export async function recordSuspension(parts: Parts, runId: string, why: string): Promise<void> {
  const record = await storedRecord(parts, runId);
  if (!record || isEnded(record.status)) return;
  // Logs are taken to be saved up to the record's number: none are, where the record was not.
  const seq = (await parts.stores.runs.record(runId))?.seq ?? 0;
  await parts.stores.runs.saveRecord({ ...record, seq, suspended: why }, []);
}
