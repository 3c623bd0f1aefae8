import { describe } from 'vitest';
import { describeAgain } from './runtime/again.ts';
import { describeApi } from './runtime/api.ts';
import { describeBodies } from './runtime/bodies.ts';
import { describeChildren } from './runtime/children.ts';
import { describeData } from './runtime/data.ts';
import { describeDeletion } from './runtime/deletion.ts';
import { describeEnds } from './runtime/ends.ts';
import { describeEnvironments } from './runtime/environments.ts';
import { describeFailures } from './runtime/failures.ts';
import { describeFiles } from './runtime/files.ts';
import { describeLoops } from './runtime/loops.ts';
import { describeParallels } from './runtime/parallels.ts';
import { describePausePaths } from './runtime/pause-paths.ts';
import { describePaths } from './runtime/paths.ts';
import { describePauses } from './runtime/pauses.ts';
import { describePythonReach } from './runtime/python-reach.ts';
import { describePython } from './runtime/python.ts';
import { describeRestart } from './runtime/restart.ts';
import { describeStarts } from './runtime/starts.ts';
import { describeSteps } from './runtime/steps.ts';
import { describeShell } from './runtime/shell.ts';
import type { MakeRuntime } from './runtime/suite.ts';
import { describeTime } from './runtime/time.ts';
import { describeVariables } from './runtime/variables.ts';

interface Durability {
  /** Its runs outlive an engine. */
  durable: boolean;
  /** Its runs go on without the engine that started them, on any worker. */
  shared?: boolean;
}

/** What every runtime must do: an implementation's test is one call, or one for each half where a runtime is slow. */
export function describeRuntime(name: string, make: MakeRuntime, durability: Durability): void {
  describeGraphs(name, make);
  describeServices(name, make, durability);
}

/** Data and control flow. */
export function describeGraphs(name: string, make: MakeRuntime): void {
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
    describePausePaths(make);
    describeStarts(make);
    describeEnds(make);
    describeVariables(make);
    describeSteps(make);
  });
}

/** Code, requests, child runs, environments, files, deletion and restarts. */
export function describeServices(
  name: string,
  make: MakeRuntime,
  { durable, shared = false }: Durability,
): void {
  describe(`runtime: ${name}`, () => {
    describePython(make);
    describePythonReach(make);
    describeShell(make);
    describeApi(make);
    describeChildren(make);
    describeEnvironments(make);
    describeFiles(make);
    describeDeletion(make);
    if (durable) describeRestart(make, shared);
  });
}
