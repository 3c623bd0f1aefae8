import { describe } from 'vitest';
import { describeFamilies } from './restart/children.ts';
import { describeNeeds } from './restart/needs.ts';
import { describeInterruptedSteps } from './restart/steps.ts';
import { describeStanding } from './restart/standing.ts';
import { describeAnswers } from './restart/pauses.ts';
import { Succession } from './restart/succession.ts';
import { describeTimers } from './restart/timers.ts';
import { describeWork } from './restart/work.ts';
import type { MakeRuntime } from './suite.ts';

/** Decisions 17, 18, 22, 23, 33, 34: an engine continues what an earlier one has recorded. */
export function describeRestart(make: MakeRuntime, shared: boolean): void {
  const engines = (): Succession => new Succession(make());

  describe('restart', () => {
    describeWork(engines);
    describeInterruptedSteps(engines);
    describeTimers(engines);
    describeAnswers(engines);
    describeFamilies(engines);
    // If any worker may execute a run, a single engine does not decide that it is idle.
    if (!shared) {
      describeStanding(engines);
      describeNeeds(engines);
    }
  });
}
