import type { Limits } from '../limits.ts';
import { tellHost } from '../host-fault.ts';
import { failure } from '../outcome.ts';
import type { Ending, Job } from '../pool/job.ts';
import type { EndCode, GuestError } from '../protocol.ts';
import { complexityExcess } from '../json-complexity.ts';
import type { NativeLimits } from './limits.ts';
import type { TreeOutput } from './output.ts';
import type { TreeEnd, TreeStop } from './tree.ts';

/** Exit codes of processes that were ended by a signal: SIGABRT, SIGXCPU. */
const ABORTED = 134;
const OVER_TIME = 152;

/** How what the tools say begins that start a process. */
const TOOLS = /^(?:bwrap|prlimit|setpriv): /;

/** The code's own error, in the words of its process. */
const THROWN: EndCode = 'GUEST_ERROR';

interface Told {
  readonly code: EndCode;
  readonly text: string;
}

function stopText(stopped: TreeStop, limits: Limits, memoryMiB = 0): Told {
  switch (stopped) {
    case 'cpu':
      return { code: 'TIMEOUT_CPU', text: `The code used more than ${limits.cpuMs} ms of processor time.` };
    case 'wall':
      return { code: 'TIMEOUT_WALL', text: `The code gave no value within ${limits.wallMs} ms.` };
    case 'memory':
      return {
        code: 'OUT_OF_MEMORY',
        text: `The processes of the code used more than ${memoryMiB} MiB of memory.`,
      };
    case 'output':
      return {
        code: 'BRIDGE_LIMIT',
        text: `The code wrote more than ${limits.bridgeChars} bytes of output.`,
      };
    case 'result':
      return { code: 'RESULT_TOO_LARGE', text: `The result has more than ${limits.resultChars} characters.` };
    case 'cancelled':
      return { code: 'CANCELLED', text: 'The job was cancelled.' };
  }
}

function thrown(name: string, message: string): Told {
  const error: GuestError = { phase: 'run', index: 0, name, message, stack: '' };
  return { code: THROWN, text: JSON.stringify(error) };
}

/** The end of a process that gave no result. */
function ofExit({ exitCode, said }: TreeEnd, limits: Limits, what: string): Told {
  if (exitCode === OVER_TIME) return stopText('cpu', limits);
  if (exitCode === ABORTED && /out of memory/i.test(said))
    return { code: 'OUT_OF_MEMORY', text: 'The code used up the memory of its process.' };
  const last = said.split('\n').at(-1)?.trim() ?? '';
  const why = last === '' ? '' : `: ${last}`;
  return thrown('ExitError', `The ${what} ended with exit code ${exitCode}${why}`);
}

function ofScript(end: TreeEnd, output: TreeOutput, limits: Limits): Told {
  if (end.exitCode !== 0) return ofExit(end, limits, 'script');
  if (output.isResultTooLarge) return stopText('result', limits);
  return { code: 'OK', text: output.result === null ? 'null' : asJson(output.result) };
}

/** The text as the JSON that it is, or as a JSON string. */
function asJson(text: string): string {
  // It is refused by whoever reads it.
  if (complexityExcess(text) !== null) return text;
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}

function ofProgram(end: TreeEnd, limits: Limits): Told | null {
  if (end.result === '') return ofExit(end, limits, 'process of the code');
  const text = end.result.slice(1);
  // What it says is read once, by whoever reads the words of isolates, with their limits.
  if (end.result.startsWith('E')) return { code: THROWN, text };
  if (!end.result.startsWith('D')) return null;
  return text.length > limits.resultChars ? stopText('result', limits) : { code: 'OK', text };
}

/** What the end of a tree means for its job. */
export function endingOf(job: Job, end: TreeEnd, output: TreeOutput, native: NativeLimits): Ending {
  const { limits } = job;
  const stdout = output.end();
  if (end.stopped === null && end.exitCode === null) {
    // Else the code's own words, which are nobody else's.
    if (TOOLS.test(end.said)) tellHost(`A native process did not start: ${end.said.slice(0, 1_000)}`);
    return { failure: failure('SANDBOX_CRASHED', 'The process of the code could not be started.') };
  }
  const told =
    end.stopped !== null
      ? stopText(end.stopped, limits, native.memoryMiB)
      : job.kind === 'shell'
        ? ofScript(end, output, limits)
        : ofProgram(end, limits);
  if (told === null)
    return { failure: failure('SANDBOX_PROTOCOL', 'The process of the code sent a malformed result.') };
  const { cpuMs, wallMs } = end;
  return {
    done: { t: 'done', id: 0, ...told, stdout, cpuMs, wallMs, late: false, next: 0, rssMiB: end.memoryMiB },
  };
}
