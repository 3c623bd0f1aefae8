import { EngineError } from '../errors.ts';
import type { Transition } from '../machine/command.ts';
import type { Plan } from '../plan/plan.ts';
import type { Entry } from './entry.ts';
import type { Ledger } from './ledger.ts';
import { RunState } from './run-state.ts';

/** An ended run whose data another run reuses. */
export interface SourceRun {
  runId: string;
  plan: Plan;
  /** The data of the run at its end. */
  ledger: Ledger;
  /** The entries of its journal, each with its transitions. */
  entries: readonly { entry: Entry; transitions: readonly Transition[] }[];
}

/** Returns the run with this journal. Throws RUN_NOT_SETTLED if it has not ended, JOURNAL_CORRUPT if it is invalid. */
export function replaySourceRun(runId: string, plan: Plan, journal: readonly Entry[]): SourceRun {
  const runState = new RunState(runId, plan);
  const entries = journal.map((entry) => ({ entry, transitions: runState.replay(entry).transitions }));
  if (runState.idleState() === 'ended') return { runId, plan, ledger: runState.ledger, entries };
  throw new EngineError('RUN_NOT_SETTLED', `Run ${runId} has not ended: wait for its end, or cancel it.`);
}
