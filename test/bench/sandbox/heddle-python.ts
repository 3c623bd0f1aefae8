import { createSandbox } from '@heddle/sandbox';
import type { FunctionJob, SandboxOptions } from '@heddle/sandbox';
import type { Contender, TimedWorkload } from '../workload.ts';
import { CODE, N, RESULT } from './code.ts';
import { expectOutcome, start } from './heddle.ts';
import { memoryAfterRuns } from './memory.ts';
import { programWorkloads } from './program.ts';

type Job = Omit<FunctionJob, 'runId'>;

const JOB: Job = { language: 'python', code: CODE, values: { n: String(N) } };

const settings = (): SandboxOptions => ({
  isolation: { level: 'standard' },
  python: { maxProcesses: 1 },
});

/** Returns a workload of one job. All jobs share one run and interpreter, or each has a new run and interpreter. */
function jobs(runs: 'one' | 'many', job = JOB, options = settings()): TimedWorkload {
  const sandbox = createSandbox(options);
  let run = 0;
  return {
    once: async () =>
      expectOutcome(await sandbox.run({ ...job, runId: `run-${runs === 'one' ? 0 : run++}` })),
    close: () => sandbox.close(),
  };
}

async function pydantic(): Promise<TimedWorkload> {
  const { openImages } = await import('./images.ts');
  const images = openImages();
  await images.open('python');
  const job: Job = { ...JOB, code: `import pydantic\nreturn ${RESULT}`, image: 'python' };
  const { once, close } = jobs('many', job, { ...settings(), images });
  return {
    once,
    async close() {
      await close?.();
      await images.close();
    },
  };
}

/** CPython as WebAssembly in the isolate. */
export const contender: Contender = {
  ...programWorkloads({ url: import.meta.url }),
  sandbox: () => jobs('one'),
  'sandbox start': () => start(settings, JOB),
  'sandbox fresh': () => jobs('many'),
  'sandbox packages': pydantic,
  'sandbox memory': (size) => memoryAfterRuns(jobs('one'), size),
};
