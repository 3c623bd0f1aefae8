import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { N, RESULT } from './code.ts';
import { firstResult, DONE_OUTPUT } from './program.ts';

const run = promisify(execFile);

/** Returns the path of the Python binary. The `python3` on PATH may be a script that searches for the binary. */
async function python(): Promise<string> {
  try {
    const { stdout } = await run('python3', ['-c', 'import sys; print(sys.executable)']);
    return stdout.trim();
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw isMissing ? new Error('There is no python3 on PATH.', { cause: error }) : error;
  }
}

/** Returns the output of the code in a new process. */
async function outputOf(file: string, code: string): Promise<string> {
  try {
    return (await run(file, ['-I', '-c', code])).stdout.trim();
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    throw new Error(stderr.trim().split('\n').at(-1) || String(error), { cause: error });
  }
}

async function processPerRun(code: string): Promise<TimedWorkload> {
  const file = await python();
  return { once: async () => expectResult(await outputOf(file, code), String(RESULT)) };
}

const PEAK = `import re
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1))`;

const execution = (): Promise<TimedWorkload> => processPerRun(`import json; print(json.loads("${N}") + 1)`);

/** The system's CPython, one process for each execution, with all rights of its user. */
export const contender: Contender = {
  sandbox: execution,
  'sandbox fresh': execution,
  async 'sandbox program'() {
    const file = await python();
    return { sample: () => firstResult(file, ['-I', '-c', `print("${DONE_OUTPUT}")`]) };
  },
  'sandbox packages': () => processPerRun(`import pydantic; print(${RESULT})`),
  async 'sandbox memory'() {
    const file = await python();
    return { sample: async () => Number(await outputOf(file, PEAK)) / 1024 };
  },
};
