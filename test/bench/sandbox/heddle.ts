import { performance } from 'node:perf_hooks';
import { createSandbox } from '@heddle/sandbox';
import type { FunctionJob, FunctionOutcome, SandboxOptions } from '@heddle/sandbox';
import { expectResult } from '../workload.ts';
import type { Contender, MeasuredWorkload, TimedWorkload } from '../workload.ts';
import { CODE, expectValues, expressionsOf, INPUT, PACKAGES_CODE, RESULT } from './code.ts';
import { memoryAfterRuns } from './memory.ts';
import { programWorkloads } from './program.ts';

type Settings = () => SandboxOptions | Promise<SandboxOptions>;

const JOB = { code: CODE, values: { n: String(INPUT) } };

/** Throws unless the job returned the expected result. */
export function expectOutcome(outcome: FunctionOutcome): void {
  if (!outcome.ok) throw new Error(`${outcome.error.code}: ${outcome.error.message}`);
  expectResult(outcome.json, String(RESULT));
}

/** Returns a workload of `size` concurrent jobs. All jobs belong to the same run, or each belongs to a new run. */
async function jobs(settings: Settings, size: number, runs: 'one' | 'many' = 'one'): Promise<TimedWorkload> {
  const sandbox = createSandbox(await settings());
  let runCount = 0;
  const runJob = async (): Promise<void> => {
    const runId = `run-${runs === 'one' ? 0 : runCount++}`;
    expectOutcome(await sandbox.run({ ...JOB, runId }));
    if (runs === 'many') sandbox.release(runId);
  };
  return {
    once: async () => void (await Promise.all(Array.from({ length: size }, runJob))),
    close: () => sandbox.close(),
  };
}

/** Measures the milliseconds until the first result of a new sandbox. An unmeasured run first probes the isolation. */
export async function measureSandboxStart(
  settings: Settings,
  job: Omit<FunctionJob, 'runId'> = JOB,
): Promise<MeasuredWorkload> {
  const options = await settings();
  const sample = async (): Promise<number> => {
    const sandbox = createSandbox(options);
    const startMs = performance.now();
    expectOutcome(await sandbox.run({ ...job, runId: 'run' }));
    const tookMs = performance.now() - startMs;
    await sandbox.close();
    return tookMs;
  };
  await sample();
  return { sample };
}

async function expressions(settings: Settings, size: number): Promise<TimedWorkload> {
  const sandbox = createSandbox(await settings());
  const values = { n: String(INPUT) };
  const batch = expressionsOf(size).map((code) => ({ code, values }));
  return {
    async once() {
      const outcome = await sandbox.evaluate({ runId: 'run', mode: 'values', expressions: batch });
      if (!outcome.ok) throw new Error(`${outcome.error.code}: ${outcome.error.message}`);
      expectValues(outcome.json.map(Number));
    },
    close: () => sandbox.close(),
  };
}

async function packages(settings: Settings): Promise<TimedWorkload> {
  const { openImages } = await import('./images.ts');
  const images = openImages();
  await images.open('javascript');
  const sandbox = createSandbox({ ...(await settings()), images });
  const job = { ...JOB, code: PACKAGES_CODE, image: 'javascript', runId: 'run' };
  return {
    once: async () => expectOutcome(await sandbox.run(job)),
    async close() {
      await sandbox.close();
      await images.close();
    },
  };
}

function contenderOf(exportName: string, settings: Settings): Contender {
  return {
    ...programWorkloads({ url: import.meta.url, exportName }),
    sandbox: () => jobs(settings, 1),
    'sandbox in flight': (size) => jobs(settings, size),
    'sandbox start': () => measureSandboxStart(settings),
    'sandbox packages': () => packages(settings),
    'sandbox memory': async (size) => memoryAfterRuns(await jobs(settings, 1), size),
    expressions: (size) => expressions(settings, size),
  };
}

/** Jobs of one run share an isolate. Each job has its own context. */
export const standard = contenderOf('standard', () => ({ isolation: { level: 'standard' } }));

export const strict = contenderOf('strict', async () => {
  const { bubblewrap } = await import('../../support/bubblewrap.ts');
  const path = bubblewrap();
  if (path === undefined) throw new Error('bubblewrap is not available.');
  return { isolation: { level: 'strict', bubblewrap: path } };
});

const twoProcessSettings = (): SandboxOptions => ({
  isolation: { level: 'standard' },
  share: 'none',
  maxProcesses: 2,
});

/** Each job belongs to a new run and has a new isolate. */
export const isolates: Contender = {
  sandbox: () => jobs(twoProcessSettings, 1, 'many'),
  'sandbox on two cores': (size) => jobs(twoProcessSettings, size, 'many'),
};
