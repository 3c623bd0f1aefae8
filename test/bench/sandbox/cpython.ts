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
async function runPython(binary: string, code: string): Promise<string> {
  try {
    return (await execFileAsync(binary, ['-I', '-c', code])).stdout.trim();
  } catch (error) {
    const { stderr = '' } = error as { stderr?: string };
    throw new Error(stderr.trim().split('\n').at(-1) || String(error), { cause: error });
  }
}

async function processPerRunWorkload(code: string): Promise<TimedWorkload> {
  const binary = await findPythonBinary();
  return { runOnce: async () => expectResult(await runPython(binary, code), String(RESULT)) };
}

const PEAK_MEMORY_CODE = `import re
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read()).group(1))`;

const incrementWorkload = (): Promise<TimedWorkload> =>
  processPerRunWorkload(`import json; print(json.loads("${INPUT}") + 1)`);

/** The system's CPython, one process for each execution, with all permissions of its user. */
export const contender: Contender = {
  sandbox: incrementWorkload,
  'sandbox fresh': incrementWorkload,
  async 'sandbox program'() {
    const binary = await findPythonBinary();
    return { sample: () => measureFirstOutput(binary, ['-I', '-c', `print("${DONE_OUTPUT}")`]) };
  },
  'sandbox packages': () => processPerRunWorkload(`import pydantic; print(${RESULT})`),
  async 'sandbox memory'() {
    const binary = await findPythonBinary();
    return { sample: async () => Number(await runPython(binary, PEAK_MEMORY_CODE)) / 1024 };
  },
};
