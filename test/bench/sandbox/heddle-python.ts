import { createSandbox } from '@heddle/sandbox';
import type { FunctionJob, SandboxOptions } from '@heddle/sandbox';
import type { Contender, TimedWorkload } from '../workload.ts';
import { CODE, INPUT, RESULT } from './code.ts';
import { expectOutcome, sandboxStartWorkload } from './heddle.ts';
import { memoryAfterRunsWorkload } from './memory.ts';
import { programWorkloads } from './program.ts';

type Job = Omit<FunctionJob, 'runId'>;

const JOB: Job = { language: 'python', code: CODE, values: { n: String(INPUT) } };

const createOptions = (): SandboxOptions => ({
  isolation: { level: 'standard' },
  python: { maxProcesses: 1 },
});

/** Returns a workload that executes `job`. All executions share a run and its interpreter, or each has new ones. */
function jobsWorkload(runs: 'one' | 'many', job = JOB, options = createOptions()): TimedWorkload {
  const sandbox = createSandbox(options);
  let runCount = 0;
  return {
    runOnce: async () =>
      expectOutcome(await sandbox.run({ ...job, runId: `run-${runs === 'one' ? 0 : runCount++}` })),
    close: () => sandbox.close(),
  };
}

async function importPydanticWorkload(): Promise<TimedWorkload> {
  const { openImages } = await import('./images.ts');
  const images = openImages();
  await images.open('python');
  const job: Job = { ...JOB, code: `import pydantic\nreturn ${RESULT}`, image: 'python' };
  const { runOnce, close } = jobsWorkload('many', job, { ...createOptions(), images });
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
  sandbox: () => jobsWorkload('one'),
  'sandbox start': () => sandboxStartWorkload(createOptions, JOB),
  'sandbox fresh': () => jobsWorkload('many'),
  'sandbox packages': importPydanticWorkload,
  'sandbox memory': (size) => memoryAfterRunsWorkload(jobsWorkload('one'), size),
};
