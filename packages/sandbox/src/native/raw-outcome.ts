import type { JobLimits } from '../limits.ts';
import { warnOperator } from '../start-failure.ts';
import { createFailure } from '../outcome.ts';
import type { RawOutcome, Job } from '../pool/job.ts';
import type { EndCode, GuestError } from '../protocol.ts';
import { findExceededComplexityLimit } from '../json-complexity.ts';
import type { NativeLimits } from './limits.ts';
import type { ProcessTreeOutput } from './output.ts';
import type { ProcessTreeEnd, ProcessTreeStopReason } from './process-tree.ts';

/** Exit codes of processes that a signal ended: SIGABRT, SIGXCPU. */
const EXIT_SIGABRT = 134;
const EXIT_SIGXCPU = 152;

/** Prefixes of messages from the tools that start a process. */
const TOOL_MESSAGE = /^(?:bwrap|prlimit|setpriv): /;

interface JobEnd {
  readonly code: EndCode;
  readonly text: string;
}

function stopEnd(reason: ProcessTreeStopReason, limits: JobLimits, memoryMiB = 0): JobEnd {
  switch (reason) {
    case 'cpu':
      return { code: 'TIMEOUT_CPU', text: `The code used more than ${limits.cpuMs} ms of CPU time.` };
    case 'wall':
      return { code: 'TIMEOUT_WALL', text: `The code did not finish within ${limits.wallMs} ms.` };
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

/** The end code of a job whose code failed; the text is the error as JSON, from which callers derive the final code. */
const GUEST_ERROR = 'GUEST_ERROR' satisfies EndCode;

function errorEnd(name: string, message: string): JobEnd {
  const error: GuestError = { phase: 'run', index: 0, name, message, stack: '' };
  return { code: GUEST_ERROR, text: JSON.stringify(error) };
}

/** Returns the end of a job whose process exited without a result. */
function exitEnd({ exitCode, stderr }: ProcessTreeEnd, limits: JobLimits, subject: string): JobEnd {
  if (exitCode === EXIT_SIGXCPU) return stopEnd('cpu', limits);
  if (exitCode === EXIT_SIGABRT && /out of memory/i.test(stderr))
    return { code: 'OUT_OF_MEMORY', text: 'The code used up the memory of its process.' };
  const lastLine = stderr.split('\n').at(-1)?.trim() ?? '';
  const detail = lastLine === '' ? '' : `: ${lastLine}`;
  return errorEnd('ExitError', `The ${subject} ended with exit code ${exitCode}${detail}`);
}

function scriptEnd(end: ProcessTreeEnd, output: ProcessTreeOutput, limits: JobLimits): JobEnd {
  if (end.exitCode !== 0) return exitEnd(end, limits, 'script');
  if (output.isResultTooLarge) return stopEnd('result', limits);
  return { code: 'OK', text: output.result === undefined ? 'null' : asJson(output.result) };
}

/** Returns the text itself if it is JSON, otherwise as a JSON string. */
function asJson(text: string): string {
  // Too complex to parse; the reader of the result refuses it.
  if (findExceededComplexityLimit(text) !== undefined) return text;
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}

function programEnd(end: ProcessTreeEnd, limits: JobLimits): JobEnd | undefined {
  if (end.result === '') return exitEnd(end, limits, 'process of the code');
  const text = end.result.slice(1);
  // `E` is an error and `D` a result, as in messages of guests (child/bridge.ts).
  // Error details are parsed later, with the same code and limits as error details from isolates.
  if (end.result.startsWith('E')) return { code: GUEST_ERROR, text };
  if (!end.result.startsWith('D')) return undefined;
  return text.length > limits.resultChars ? stopEnd('result', limits) : { code: 'OK', text };
}

/** Returns the outcome of a job from the end of its process tree, before the result is read and checked. */
export function toRawOutcome(
  job: Job,
  end: ProcessTreeEnd,
  output: ProcessTreeOutput,
  nativeLimits: NativeLimits,
): RawOutcome {
  const { limits } = job;
  const stdout = output.end();
  if (end.stopReason === undefined && end.exitCode === null) {
    // Only messages of our tools are logged on the host; output of the code belongs to the job.
    if (TOOL_MESSAGE.test(end.stderr))
      warnOperator(`A native process did not start: ${end.stderr.slice(0, 1_000)}`);
    return { failure: createFailure('SANDBOX_CRASHED', 'The process of the code could not be started.') };
  }
  const jobEnd =
    end.stopReason !== undefined
      ? stopEnd(end.stopReason, limits, nativeLimits.memoryMiB)
      : job.kind === 'shell'
        ? scriptEnd(end, output, limits)
        : programEnd(end, limits);
  if (jobEnd === undefined)
    return { failure: createFailure('SANDBOX_PROTOCOL', 'The process of the code sent a malformed result.') };
  const { cpuMs, wallMs } = end;
  return {
    done: {
      t: 'done',
      id: 0,
      ...jobEnd,
      stdout,
      cpuMs,
      wallMs,
      waitedForContext: false,
      next: 0,
      rssMiB: end.peakMemoryMiB,
    },
  };
}
