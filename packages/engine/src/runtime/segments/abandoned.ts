import type { Json } from '@heddle/core';
import type { Entry } from '@heddle/core/run';
import type { RuntimeParts } from '../../execution/runtime-parts.ts';
import { isEnded } from '../../store/journal.ts';
import { applyEntry, foldJournal, foldRun } from '../../records/fold.ts';
import type { Timed } from './position.ts';

/**
 * Ends a run that nobody runs any more as cancelled, in its journal, its record and its logs; one that has ended stays
 * as it is. Throws PLAN_FORMAT_UNSUPPORTED, JOURNAL_CORRUPT, and faults of the stores.
 */
export async function endAbandoned(
  { stores: { runs }, definitions, clock }: Pick<RuntimeParts, 'stores' | 'definitions' | 'clock'>,
  runId: string,
  reason: Json | undefined,
): Promise<void> {
  const header = await runs.header(runId);
  const stored = await runs.record(runId);
  if (!header || (stored && isEnded(stored.status))) return;
  const plan = await definitions.plan(header.planHash);
  const journal = await runs.journal(runId);
  const { replica } = foldJournal(runId, plan, journal);
  const last: Entry[] = [];
  const take = (body: Timed): void => {
    const entry = { ...body, seq: replica.seq + 1 } as Entry;
    applyEntry(replica, entry);
    last.push(entry);
  };
  take({ atMs: clock.now(), type: 'cancelled', ...(reason !== undefined && { reason }) } as Timed);
  // Nothing is under way that could use its grace.
  const grace = replica
    .pendingCommands()
    .find((command) => command.type === 'timer' && command.timer === 'grace');
  if (grace?.type === 'timer') take({ atMs: grace.dueMs, type: 'fired', timer: 'grace' });
  await runs.upsert(runId, last);
  const { record, logs } = foldRun({ header, plan, suspended: undefined }, [...journal, ...last]);
  await runs.saveRecord(record, logs);
}
