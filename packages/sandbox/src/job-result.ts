import { endFailure, readGuestFailure, readObject } from './failure.ts';
import { createFailure, type SandboxFailure, type JobUsage } from './outcome.ts';
import type { RawOutcome, Job } from './pool/job.ts';
import type { ChildMessage } from './protocol.ts';
import { findExceededComplexityLimit } from './json-complexity.ts';

type DoneMessage = Extract<ChildMessage, { t: 'done' }>;

/**
 * The result of a job as read from its process: the value, or the failure. `index` is the index of the expression that
 * failed, or -1 if the failure belongs to none.
 */
export type JobResult<T> =
  | { ok: true; value: T; usage: JobUsage }
  | { ok: false; error: SandboxFailure; index: number; usage: JobUsage };

/** Maximum length of an error as JSON, enough for the longest name, message and stack with escapes. */
const ERROR_CHARS = 128 * 1024;
const NO_USAGE: JobUsage = { stdout: '', cpuMs: 0, wallMs: 0 };

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the JSON result of a function, or undefined if it is not JSON. A compromised process may send any text. */
export function readFunctionResult(text: string): string | undefined {
  return isJson(text) ? text : undefined;
}

/**
 * Returns the JSON of the evaluated expressions and the index of the first truthy one (-1: none). Returns undefined if
 * the text is not such a result of `count` expressions.
 */
export function readExpressionResults(
  text: string,
  count: number,
): { index: number; json: string[] } | undefined {
  const fields = readObject(text);
  if (fields === undefined || !Object.hasOwn(fields, 'index') || !Object.hasOwn(fields, 'json'))
    return undefined;
  const { index, json } = fields;
  if (!Number.isInteger(index) || (index as number) < -1 || (index as number) >= count) return undefined;
  if (
    !Array.isArray(json) ||
    json.length > count ||
    !json.every((item) => typeof item === 'string' && isJson(item))
  )
    return undefined;
  return { index: index as number, json: json as string[] };
}

/** Maximum length of the marker at the end of truncated output. */
const STDOUT_MARKER_CHARS = 64;

/** Returns whether the process respected the job's size limits. The content of the result is checked separately. */
function isWithinLimits({ code, text, stdout }: DoneMessage, { limits }: Job): boolean {
  const maxChars = code === 'OK' ? limits.resultChars : ERROR_CHARS;
  return text.length <= maxChars && stdout.length <= limits.stdoutChars + STDOUT_MARKER_CHARS;
}

/** Returns the result of an ended job. `read` returns undefined for text that the guest never sends. */
export function readJobResult<T>(
  outcome: RawOutcome,
  job: Job,
  read: (text: string) => T | undefined,
): JobResult<T> {
  if ('failure' in outcome) return { ok: false, error: outcome.failure, index: -1, usage: NO_USAGE };
  const { code, text, stdout, cpuMs, wallMs } = outcome.done;
  const malformedResultFailure = createFailure(
    'SANDBOX_PROTOCOL',
    'The sandbox process sent a malformed result.',
  );
  if (!isWithinLimits(outcome.done, job))
    return { ok: false, error: malformedResultFailure, index: -1, usage: NO_USAGE };
  const usage = { stdout, cpuMs, wallMs };
  if (code === 'GUEST_ERROR') {
    const { failure: error, index } = readGuestFailure(text, job.kind);
    return { ok: false, error, index, usage };
  }
  if (code !== 'OK') return { ok: false, error: endFailure(code, text), index: -1, usage };
  const exceededLimit = findExceededComplexityLimit(text);
  if (exceededLimit !== undefined) {
    const error = createFailure('RESULT_TOO_LARGE', `The result has ${exceededLimit}.`);
    return { ok: false, error, index: -1, usage };
  }
  const value = read(text);
  return value === undefined
    ? { ok: false, error: malformedResultFailure, index: -1, usage }
    : { ok: true, value, usage };
}
