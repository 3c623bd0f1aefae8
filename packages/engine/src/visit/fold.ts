import { EngineError } from '@heddle/core';
import type { BlockLog, NewRun, Plan, RunRecord } from '@heddle/core';
import { Replica } from '@heddle/core/run';
import type { Entry } from '@heddle/core/run';
import { recordOf } from '../local/record.ts';

/** A run that has not ended as its journal tells it: its stored record and logs may lie behind. */
export function foldRun(
  of: { header: NewRun; plan: Plan; suspended: string | undefined },
  entries: readonly Entry[],
): { record: RunRecord; logs: BlockLog[] } {
  const replica = new Replica(of.header.runId, of.plan);
  const logs = new Map<number, BlockLog>();
  for (const entry of entries) {
    for (const log of applyEntry(replica, entry).logs) logs.set(log.executionOrder, log);
  }
  const inOrder = [...logs.values()].sort((a, b) => a.executionOrder - b.executionOrder);
  return { record: recordOf(replica, of.header, of.suspended), logs: inOrder };
}

/** What the next entry leads to. Throws JOURNAL_CORRUPT when it does not follow from the ones before it. */
export function applyEntry(replica: Replica, entry: Entry): ReturnType<Replica['apply']> {
  const applied = replica.apply(entry);
  if (applied.changed) return applied;
  throw new EngineError(
    'JOURNAL_CORRUPT',
    `Entry ${entry.seq} of the journal of run ${replica.runId} does not follow from the ones before it.`,
  );
}
