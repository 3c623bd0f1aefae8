import { describe } from 'vitest';
import { describeChildren } from './restart/children.ts';
import { describeContinuedBlocks } from './restart/continued.ts';
import { describeMissingEnvironment } from './restart/missing-environment.ts';
import { describeInterruptedSteps } from './restart/steps.ts';
import { describeUnexecutedRuns } from './restart/unexecuted.ts';
import { describePausedRuns } from './restart/pauses.ts';
import { EngineSequence } from './restart/engine-sequence.ts';
import { describeTimers } from './restart/timers.ts';
import { describeWork } from './restart/work.ts';
import type { MakeRuntime } from './suite.ts';

type Groups = { readonly [name: string]: () => void };

/** Defines the tests of restarts. `choose` selects the groups of tests to define; by default all. */
export function describeRestart(
  make: MakeRuntime,
  shared: boolean,
  choose: (groups: Groups) => readonly (() => void)[] = Object.values,
): void {
  describe('restart', () => {
    for (const describeGroup of choose(restartGroups(make, shared))) describeGroup();
  });
}

/** Returns the functions that define the tests, by group. In each test, an engine continues runs of an earlier one. */
function restartGroups(make: MakeRuntime, shared: boolean): Groups {
  const makeEngines = (): EngineSequence => new EngineSequence(make());
  return {
    work: () => describeWork(makeEngines),
    'interrupted steps': () => describeInterruptedSteps(makeEngines),
    timers: () => describeTimers(makeEngines),
    answers: () => describePausedRuns(makeEngines),
    'continued pauses': () => describeContinuedBlocks(makeEngines),
    children: () => describeChildren(makeEngines),
    // With a shared store, any worker may continue a run, so no engine can leave it unexecuted.
    ...(!shared && {
      'unexecuted runs': () => describeUnexecutedRuns(makeEngines),
      'missing environment': () => describeMissingEnvironment(makeEngines),
    }),
  };
}
