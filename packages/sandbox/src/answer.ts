import { endFailure, guestFailure, readObject } from './failure.ts';
import { failure, type SandboxFailure, type Usage } from './outcome.ts';
import type { Ending, Job } from './pool/job.ts';
import type { Report } from './protocol.ts';
import { complexityExcess } from './json-complexity.ts';

type Done = Extract<Report, { t: 'done' }>;

/** How a job's answer is read: the value, or the failure with the expression it belongs to. */
export type Answer<T> =
  | { ok: true; value: T; usage: Usage }
  | { ok: false; error: SandboxFailure; index: number; usage: Usage };

/** Room for an error's name, message and stack as JSON, escapes included. */
const ERROR_CHARS = 128 * 1024;
const NO_USAGE: Usage = { stdout: '', cpuMs: 0, wallMs: 0 };

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The result of a function, which a process whose guest broke out could have made anything. */
export function readFunction(text: string): string | null {
  return isJson(text) ? text : null;
}

export function readExpressions(text: string, count: number): { index: number; json: string[] } | null {
  const fields = readObject(text);
  if (fields === null || !Object.hasOwn(fields, 'index') || !Object.hasOwn(fields, 'json')) return null;
  const { index, json } = fields;
  if (!Number.isInteger(index) || (index as number) < -1 || (index as number) >= count) return null;
  if (
    !Array.isArray(json) ||
    json.length > count ||
    !json.every((item) => typeof item === 'string' && isJson(item))
  )
    return null;
  return { index: index as number, json: json as string[] };
}

const STDOUT_MARK_CHARS = 64;

/** Whether a process kept to the job's sizes, as ours does; results are judged by what they are. */
function isWithinLimits({ code, text, stdout }: Done, { limits }: Job): boolean {
  const most = code === 'OK' ? limits.resultChars : ERROR_CHARS;
  return text.length <= most && stdout.length <= limits.stdoutChars + STDOUT_MARK_CHARS;
}

/** The answer in a job's ending; `read` gives null where the text is not what our guest sends. */
export function readEnding<T>(ending: Ending, job: Job, read: (text: string) => T | null): Answer<T> {
  if ('failure' in ending) return { ok: false, error: ending.failure, index: -1, usage: NO_USAGE };
  const { code, text, stdout, cpuMs, wallMs } = ending.done;
  const malformed = failure('SANDBOX_PROTOCOL', 'The sandbox process sent a malformed result.');
  if (!isWithinLimits(ending.done, job)) return { ok: false, error: malformed, index: -1, usage: NO_USAGE };
  const usage = { stdout, cpuMs, wallMs };
  if (code === 'GUEST_ERROR') {
    const { failure: error, index } = guestFailure(text, job.kind);
    return { ok: false, error, index, usage };
  }
  if (code !== 'OK') return { ok: false, error: endFailure(code, text), index: -1, usage };
  const excess = complexityExcess(text);
  if (excess !== null) {
    const error = failure('RESULT_TOO_LARGE', `The result has ${excess}.`);
    return { ok: false, error, index: -1, usage };
  }
  const value = read(text);
  return value === null ? { ok: false, error: malformed, index: -1, usage } : { ok: true, value, usage };
}
