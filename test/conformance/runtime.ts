import { describe } from 'vitest';
import { describeReruns } from './runtime/rerun.ts';
import { describeRerunsInContainers } from './runtime/rerun-in-container.ts';
import { describeApi } from './runtime/api.ts';
import { describeBodies } from './runtime/bodies.ts';
import { describeContinuedAttempts } from './runtime/continued-attempts.ts';
import { describeCodeTools } from './runtime/code-tools.ts';
import { describeChildren } from './runtime/children.ts';
import { describeData } from './runtime/data.ts';
import { describeDeletion } from './runtime/deletion.ts';
import { describeRunOutcomes } from './runtime/run-outcomes.ts';
import { describeEnvironments } from './runtime/environments.ts';
import { describeFailures } from './runtime/failures.ts';
import { describeFiles } from './runtime/files.ts';
import { describeLoops } from './runtime/loops.ts';
import { describeParallels } from './runtime/parallels.ts';
import { describePausePaths } from './runtime/pause-paths.ts';
import { describePaths } from './runtime/paths.ts';
import { describePauses } from './runtime/pauses.ts';
import { describePythonData } from './runtime/python-data.ts';
import { describePython } from './runtime/python.ts';
import { describeRestart } from './runtime/restart.ts';
import { describeStarts } from './runtime/starts.ts';
import { describeSteps } from './runtime/steps.ts';
import { describeShell } from './runtime/shell.ts';
import type { MakeRuntime } from './runtime/runtime-under-test.ts';
import { sample } from '../support/scale.ts';
import { describeTenantData } from './runtime/tenant-data.ts';
import { describeTime } from './runtime/time.ts';
import { describeVariables } from './runtime/variables.ts';
import { describeWorkflowTools } from './runtime/workflow-tools.ts';

interface Durability {
  /** True if runs survive the close of an engine. */
  durable: boolean;
  /** True if runs continue on any worker, without the engine that started them. */
  continuesOnAnyWorker?: boolean;
  /** Share of the groups of restart tests that a quick run executes. Default: 1. */
  restartShare?: number;
}

/**
 * Defines the tests for a runtime. For a slow runtime, two test files call `describeGraphs` and `describeServices`
 * instead. A quick run executes `share` of the groups of tests.
 */
export function describeRuntime(
  name: string,
  makeRuntime: MakeRuntime,
  durability: Durability & { share?: number },
): void {
  describeGraphs(name, makeRuntime, durability.share);
  describeServices(name, makeRuntime, durability);
}

/** Data and control flow, by name of the group. */
const GRAPH_GROUPS = {
  data: describeData,
  paths: describePaths,
  bodies: describeBodies,
  loops: describeLoops,
  parallels: describeParallels,
  'partial runs': describeReruns,
  'partial runs inside containers': describeRerunsInContainers,
  failures: describeFailures,
  time: describeTime,
  pauses: describePauses,
  continued: describeContinuedAttempts,
  'pause paths': describePausePaths,
  starts: describeStarts,
  'run outcomes': describeRunOutcomes,
  variables: describeVariables,
  steps: describeSteps,
};

/** Code, requests, child runs, data of tenants, tools of agents and deletion, by name of the group. */
const SERVICE_GROUPS = {
  python: describePython,
  'python data': describePythonData,
  shell: describeShell,
  api: describeApi,
  children: describeChildren,
  environments: describeEnvironments,
  files: describeFiles,
  'tenant data': describeTenantData,
  deletion: describeDeletion,
  'workflow tools': describeWorkflowTools,
  'code tools': describeCodeTools,
};

/** Defines the tests of `GRAPH_GROUPS`. A quick run executes `share` of the groups. */
export function describeGraphs(name: string, makeRuntime: MakeRuntime, share = 1): void {
  describe(`runtime: ${name}`, () => {
    for (const describeGroup of sampleGroups(GRAPH_GROUPS, name, share)) describeGroup(makeRuntime);
  });
}

/**
 * Defines the tests of `SERVICE_GROUPS`, and of restarts if runs are durable. A quick run executes `share` of the
 * groups.
 */
export function describeServices(
  name: string,
  makeRuntime: MakeRuntime,
  { durable, continuesOnAnyWorker = false, restartShare = 1, share = 1 }: Durability & { share?: number },
): void {
  describe(`runtime: ${name}`, () => {
    for (const describeGroup of sampleGroups(SERVICE_GROUPS, name, share)) describeGroup(makeRuntime);
    if (durable)
      describeRestart(makeRuntime, continuesOnAnyWorker, (groups) =>
        sampleGroups(groups, `restarts of ${name}`, restartShare),
      );
  });
}

/** Returns a random `share` of the groups; all in a full run. */
function sampleGroups<T>(groups: { readonly [name: string]: T }, name: string, share: number): T[] {
  const entries = Object.entries(groups);
  const label = `conformance groups of ${name} (from: ${Object.keys(groups).join(', ')})`;
  return sample(entries, Math.ceil(entries.length * share), label).map(([, describeGroup]) => describeGroup);
}
