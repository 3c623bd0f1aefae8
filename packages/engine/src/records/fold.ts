import type { BlockLog, RunHeader, Plan, RunRecord } from '@heddle/core';
import { RunState } from '@heddle/core/run';
import type { ApplyResult, Entry } from '@heddle/core/run';
import { recordOf } from './run-record.ts';

/**
 * Returns the state of a run after the entries of its journal, with the logs that they changed, in execution order.
 * Throws JOURNAL_CORRUPT.
 */
export function foldJournal(
  runId: string,
  plan: Plan,
  entries: readonly Entry[],
): { runState: RunState; logs: BlockLog[] } {
  const runState = new RunState(runId, plan);
  const logs = new Map<number, BlockLog>();
  for (const entry of entries) {
    for (const log of runState.replay(entry).logs) logs.set(log.executionOrder, log);
  }
  return { runState, logs: [...logs.values()].sort((a, b) => a.executionOrder - b.executionOrder) };
}

/**
 * Returns the record and logs of a run after the entries of its journal. They may be newer than the stored record and
 * logs. `suspensionReason`: the reason why the run does not continue. Throws JOURNAL_CORRUPT.
 */
export function foldRun(
  { header, plan, suspensionReason }: { header: RunHeader; plan: Plan; suspensionReason: string | undefined },
  entries: readonly Entry[],
): { record: RunRecord; logs: BlockLog[] } {
  const { runState, logs } = foldJournal(header.runId, plan, entries);
  return { record: recordOf(runState, header, suspensionReason), logs };
}

/** A journal entry with the changes that it makes in the run. */
export interface AppliedEntry {
  entry: Entry;
  applyResult: ApplyResult;
}
