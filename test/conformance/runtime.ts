import { describe } from 'vitest';
import { describeAgain } from './runtime/again.ts';
import { describeBodies } from './runtime/bodies.ts';
import { describeChildren } from './runtime/children.ts';
import { describeData } from './runtime/data.ts';
import { describeFailures } from './runtime/failures.ts';
import { describeLoops } from './runtime/loops.ts';
import { describeParallels } from './runtime/parallels.ts';
import { describePaths } from './runtime/paths.ts';
import { describePauses } from './runtime/pauses.ts';
import { describeRestart } from './runtime/restart.ts';
import type { MakeRuntime } from './runtime/suite.ts';
import { describeTime } from './runtime/time.ts';

/** What every runtime must do, whatever it runs on: an implementation's test is one call. `durable`: its runs outlive an engine. */
export function describeRuntime(name: string, make: MakeRuntime, { durable }: { durable: boolean }): void {
  describe(`runtime: ${name}`, () => {
    describeData(make);
    describePaths(make);
    describeBodies(make);
    describeLoops(make);
    describeParallels(make);
    describeAgain(make);
    describeFailures(make);
    describeTime(make);
    describePauses(make);
    describeChildren(make);
    if (durable) describeRestart(make);
  });
}
