import { createSandbox } from '@heddle/sandbox';
import type { FunctionJob, SandboxOptions } from '@heddle/sandbox';
import type { Contender, TimedWorkload } from '../workload.ts';
import { CODE, INPUT, RESULT } from './code.ts';
import { expectOutcome, createSandboxStartWorkload } from './heddle.ts';
import { createMemoryAfterRunsWorkload } from './memory.ts';
import { programWorkloads } from './program.ts';

type Job = Omit<FunctionJob, 'runId'>;

const JOB: Job = { language: 'python', code: CODE, values: { n: String(INPUT) } };

const createOptions = (): SandboxOptions => ({
  isolation: { level: 'standard' },
  python: { maxProcesses: 1 },
});

/** Returns a workload that executes `job`. All executions share a run and its interpreter, or each has new ones. */
function createJobsWorkload(runs: 'one' | 'many', job = JOB, options = createOptions()): TimedWorkload {
  const sandbox = createSandbox(options);
  let runCount = 0;
  return {
    runOnce: async () =>
      expectOutcome(await sandbox.run({ ...job, runId: `run-${runs === 'one' ? 0 : runCount++}` })),
    close: () => sandbox.close(),
  };
}

async function createPydanticWorkload(): Promise<TimedWorkload> {
  const { openImages } = await import('./images.ts');
  const images = openImages();
  await images.open('python');
  const job: Job = { ...JOB, code: `import pydantic\nreturn ${RESULT}`, image: 'python' };
  const { runOnce, close } = createJobsWorkload('many', job, { ...createOptions(), images });
  return {
    runOnce,
    async close() {
      await close?.();
      await images.close();
    },
  };
}

/** CPython as WebAssembly in the isolate. */
export const contender: Contender = {
  ...programWorkloads({ url: import.meta.url }),
  sandbox: () => createJobsWorkload('one'),
  'sandbox start': () => createSandboxStartWorkload(createOptions, JOB),
  'sandbox fresh': () => createJobsWorkload('many'),
  'sandbox packages': createPydanticWorkload,
  'sandbox memory': (size) => createMemoryAfterRunsWorkload(createJobsWorkload('one'), size),
};
