import type { Entry, NewRun, RunRecord } from '@heddle/core';
import type { TailableRunStore } from '../../store/stores.ts';
import { after } from '../../execution/answer.ts';

/** By what right this process drives runs, and where it writes each of them. */
export interface Tenure {
  /** Other processes have runs of the same stores. */
  readonly shared: boolean;
  /** Creates a run that is this process's; undefined: the id is taken. */
  create(
    run: NewRun,
    first: Entry,
    record: RunRecord,
  ): TailableRunStore | undefined | Promise<TailableRunStore | undefined>;
  /** Makes a recorded run this process's. Throws RUN_ELSEWHERE while another process has it. */
  take(runId: string): TailableRunStore | Promise<TailableRunStore>;
  /** Where a run is written that this process has; throws RUN_ELSEWHERE for another one. */
  writer(runId: string): TailableRunStore;
  /** The run was put away: only a person can move it. */
  rest(runId: string): void;
  /** The run has ended, or is another's. */
  forget(runId: string): void;
  /** Before something is begun outside: what is lost by now is stopped. */
  alert(): void;
  /** The run was stopped by a fault, and its record says by which. */
  stumbled(runId: string): void;
}

/**
 * Of a process that has its stores alone: every run is its own, and what has stumbled is taken up at the next start.
 * `onTake` is told of each recorded run that the process opens.
 */
export function soleTenure(runs: TailableRunStore, onTake?: (runId: string) => void): Tenure {
  return {
    shared: false,
    create: (run, first, record) =>
      after(runs.create(run, first, record), (created) => (created ? runs : undefined)),
    take: (runId) => {
      onTake?.(runId);
      return runs;
    },
    writer: () => runs,
    rest: () => undefined,
    forget: () => undefined,
    alert: () => undefined,
    stumbled: () => undefined,
  };
}
