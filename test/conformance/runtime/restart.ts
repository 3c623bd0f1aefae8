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

/** Decisions 17, 18, 22, 23, 33, 34: what one engine has recorded the next one goes on with. */
export function describeRestart(make: MakeRuntime, shared: boolean): void {
  const engines = (): Succession => new Succession(make());

  describe('restart', () => {
    describeWork(engines);
    describeInterruptedSteps(engines);
    describeTimers(engines);
    describeAnswers(engines);
    describeFamilies(engines);
    // Where any worker may run a run, no engine alone decides that it stands still.
    if (!shared) {
      describeStanding(engines);
      describeNeeds(engines);
    }
  });
}
