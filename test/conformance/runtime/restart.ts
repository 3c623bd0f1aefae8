import { describe } from 'vitest';
import { describeChildren } from './restart/children.ts';
import { describeContinuedBlocks } from './restart/continued-blocks.ts';
import { describeMissingEnvironment } from './restart/missing-environment.ts';
import { describeInterruptedSteps } from './restart/steps.ts';
import { describeUnexecutedRuns } from './restart/unexecuted-runs.ts';
import { describePausedRuns } from './restart/pauses.ts';
import { EngineSequence } from './restart/engine-sequence.ts';
import { describeTimers } from './restart/timers.ts';
import { describeContinuedRuns } from './restart/continued-runs.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

type Groups = { readonly [name: string]: () => void };

/** Defines the tests of restarts. `selectGroups` selects the groups of tests to define; by default all. */
export function describeRestart(
  makeRuntime: MakeRuntime,
  isStoreShared: boolean,
  selectGroups: (groups: Groups) => readonly (() => void)[] = Object.values,
): void {
  describe('restart', () => {
    for (const describeGroup of selectGroups(restartGroups(makeRuntime, isStoreShared))) describeGroup();
  });
}

/** Returns the functions that define the tests, by group. In each test, an engine continues runs of an earlier one. */
function restartGroups(makeRuntime: MakeRuntime, isStoreShared: boolean): Groups {
  const makeEngineSequence = (): EngineSequence => new EngineSequence(makeRuntime());
  return {
    'continued runs': () => describeContinuedRuns(makeEngineSequence),
    'interrupted steps': () => describeInterruptedSteps(makeEngineSequence),
    timers: () => describeTimers(makeEngineSequence),
    'paused runs': () => describePausedRuns(makeEngineSequence),
    'continued blocks': () => describeContinuedBlocks(makeEngineSequence),
    children: () => describeChildren(makeEngineSequence),
    // With a shared store, any worker may continue a run, so no engine can leave it unexecuted.
    ...(!isStoreShared && {
      'unexecuted runs': () => describeUnexecutedRuns(makeEngineSequence),
      'missing environment': () => describeMissingEnvironment(makeEngineSequence),
    }),
  };
}
