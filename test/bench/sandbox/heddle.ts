import { performance } from 'node:perf_hooks';
import { createSandbox } from '@heddle/sandbox';
import type { FunctionJob, FunctionOutcome, SandboxOptions } from '@heddle/sandbox';
import { expectResult } from '../workload.ts';
import type { Contender, SelfMeasuringWorkload, TimedWorkload } from '../workload.ts';
import { CODE, expectExpressionResults, expressionsOf, INPUT, PACKAGES_CODE, RESULT } from './code.ts';
import { createMemoryAfterRunsWorkload } from './memory.ts';
import { programWorkloads } from './program.ts';

type CreateOptions = () => SandboxOptions | Promise<SandboxOptions>;

const JOB = { code: CODE, values: { n: String(INPUT) } };

/** Throws unless the job returned the expected result. */
export function expectOutcome(outcome: FunctionOutcome): void {
  if (!outcome.ok) throw new Error(`${outcome.error.code}: ${outcome.error.message}`);
  expectResult(outcome.json, String(RESULT));
}

/** Returns a workload of `size` concurrent jobs. All jobs belong to the same run, or each belongs to a new run. */
async function createJobsWorkload(
  createOptions: CreateOptions,
  size: number,
  runs: 'one' | 'many' = 'one',
): Promise<TimedWorkload> {
  const sandbox = createSandbox(await createOptions());
  let runCount = 0;
  const runJob = async (): Promise<void> => {
    const runId = `run-${runs === 'one' ? 0 : runCount++}`;
    expectOutcome(await sandbox.run({ ...JOB, runId }));
    if (runs === 'many') sandbox.release(runId);
  };
  return {
    runOnce: async () => void (await Promise.all(Array.from({ length: size }, runJob))),
    close: () => sandbox.close(),
  };
}

/** Measures the milliseconds until the first result of a new sandbox. An unmeasured run first probes the isolation. */
export async function createSandboxStartWorkload(
  createOptions: CreateOptions,
  job: Omit<FunctionJob, 'runId'> = JOB,
): Promise<SelfMeasuringWorkload> {
  const options = await createOptions();
  const sample = async (): Promise<number> => {
    const sandbox = createSandbox(options);
    const startMs = performance.now();
    expectOutcome(await sandbox.run({ ...job, runId: 'run' }));
    const durationMs = performance.now() - startMs;
    await sandbox.close();
    return durationMs;
  };
  await sample();
  return { sample };
}

async function createExpressionsWorkload(createOptions: CreateOptions, size: number): Promise<TimedWorkload> {
  const sandbox = createSandbox(await createOptions());
  const values = { n: String(INPUT) };
  const batch = expressionsOf(size).map((code) => ({ code, values }));
  return {
    async runOnce() {
      const outcome = await sandbox.evaluate({ runId: 'run', mode: 'values', expressions: batch });
      if (!outcome.ok) throw new Error(`${outcome.error.code}: ${outcome.error.message}`);
      expectExpressionResults(outcome.json.map(Number));
    },
    close: () => sandbox.close(),
  };
}

async function createPackagesWorkload(createOptions: CreateOptions): Promise<TimedWorkload> {
  const { openImages } = await import('./images.ts');
  const images = openImages();
  await images.open('javascript');
  const sandbox = createSandbox({ ...(await createOptions()), images });
  const job = { ...JOB, code: PACKAGES_CODE, image: 'javascript', runId: 'run' };
  return {
    runOnce: async () => expectOutcome(await sandbox.run(job)),
    async close() {
      await sandbox.close();
      await images.close();
    },
  };
}

function contenderOf(exportName: string, createOptions: CreateOptions): Contender {
  return {
    ...programWorkloads({ url: import.meta.url, exportName }),
    sandbox: () => createJobsWorkload(createOptions, 1),
    'sandbox in flight': (size) => createJobsWorkload(createOptions, size),
    'sandbox start': () => createSandboxStartWorkload(createOptions),
    'sandbox packages': () => createPackagesWorkload(createOptions),
    'sandbox memory': async (size) =>
      createMemoryAfterRunsWorkload(await createJobsWorkload(createOptions, 1), size),
    expressions: (size) => createExpressionsWorkload(createOptions, size),
  };
}

/** Jobs of one run share an isolate. Each job has its own context. */
export const standard = contenderOf('standard', () => ({ isolation: { level: 'standard' } }));

export const strict = contenderOf('strict', async () => {
  const { findBubblewrap } = await import('../../support/bubblewrap.ts');
  const path = findBubblewrap();
  if (path === undefined) throw new Error('bubblewrap is not available.');
  return { isolation: { level: 'strict', bubblewrap: path } };
});

const createTwoProcessOptions = (): SandboxOptions => ({
  isolation: { level: 'standard' },
  share: 'none',
  maxProcesses: 2,
});

/** Each job belongs to a new run and has a new isolate. */
export const isolates: Contender = {
  sandbox: () => createJobsWorkload(createTwoProcessOptions, 1, 'many'),
  'sandbox on two cores': (size) => createJobsWorkload(createTwoProcessOptions, size, 'many'),
};
