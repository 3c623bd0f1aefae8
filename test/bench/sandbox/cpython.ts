import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expectResult } from '../workload.ts';
import type { Contender, TimedWorkload } from '../workload.ts';
import { INPUT, RESULT } from './code.ts';
import { measureFirstOutput, DONE_OUTPUT } from './program.ts';

const execFileAsync = promisify(execFile);

/** Returns the path of the Python binary. The `python3` on PATH may be a script that searches for the binary. */
async function findPythonBinary(): Promise<string> {
  try {
    const { stdout } = await execFileAsync('python3', ['-c', 'import sys; print(sys.executable)']);
    return stdout.trim();
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw isMissing ? new Error('python3 is not on PATH.', { cause: error }) : error;
  }
}

/** Runs the code in a new process and returns its output. */
async function runPython(binaryPath: string, code: string): Promise<string> {
  try {
    return (await execFileAsync(binaryPath, ['-I', '-c', code])).stdout.trim();
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    throw new Error(stderr.trim().split('\n').at(-1) || String(error), { cause: error });
  }
}

async function createProcessPerRunWorkload(code: string): Promise<TimedWorkload> {
  const binaryPath = await findPythonBinary();
  return { runOnce: async () => expectResult(await runPython(binaryPath, code), String(RESULT)) };
}

const PEAK_MEMORY_CODE = `import re
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1))`;

const createIncrementWorkload = (): Promise<TimedWorkload> =>
  createProcessPerRunWorkload(`import json; print(json.loads("${INPUT}") + 1)`);

/** The system's CPython, one process for each execution, with all permissions of its user. */
export const contender: Contender = {
  sandbox: createIncrementWorkload,
  'sandbox fresh': createIncrementWorkload,
  async 'sandbox program'() {
    const binaryPath = await findPythonBinary();
    return { sample: () => measureFirstOutput(binaryPath, ['-I', '-c', `print("${DONE_OUTPUT}")`]) };
  },
  'sandbox packages': () => createProcessPerRunWorkload(`import pydantic; print(${RESULT})`),
  async 'sandbox memory'() {
    const binaryPath = await findPythonBinary();
    return { sample: async () => Number(await runPython(binaryPath, PEAK_MEMORY_CODE)) / 1024 };
  },
};
