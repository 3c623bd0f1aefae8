import { createSandbox } from '@heddle/sandbox';
import type { FunctionJob, SandboxOptions } from '@heddle/sandbox';
import type { Contender, TimedWorkload } from '../workload.ts';
import { CODE, INPUT, RESULT } from './code.ts';
import { expectOutcome, measureSandboxStart } from './heddle.ts';
import { memoryAfterRuns } from './memory.ts';
import { programWorkloads } from './program.ts';

type Job = Omit<FunctionJob, 'runId'>;

const JOB: Job = { language: 'python', code: CODE, values: { n: String(INPUT) } };

const settings = (): SandboxOptions => ({
  isolation: { level: 'standard' },
  python: { maxProcesses: 1 },
});

/** Returns a workload that executes `job`. All executions share a run and its interpreter, or each has new ones. */
function jobs(runs: 'one' | 'many', job = JOB, options = settings()): TimedWorkload {
  const sandbox = createSandbox(options);
  let runCount = 0;
  return {
    once: async () =>
      expectOutcome(await sandbox.run({ ...job, runId: `run-${runs === 'one' ? 0 : runCount++}` })),
    close: () => sandbox.close(),
  };
}

async function importPydantic(): Promise<TimedWorkload> {
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
  'sandbox start': () => measureSandboxStart(settings, JOB),
  'sandbox fresh': () => jobs('many'),
  'sandbox packages': importPydantic,
  'sandbox memory': (size) => memoryAfterRuns(jobs('one'), size),
};
