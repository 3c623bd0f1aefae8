import { BlockError, isBlockError, isEngineError } from '@heddle/core';
import type { Json } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { BlockResult } from '@heddle/core/blocks';
import type { BlockFailure, EntryBody, Place, StoredValue } from '@heddle/core/run';
import { mapMaybePromise } from '../map-maybe-promise.ts';
import type { Sanitizer } from '../records/sanitizer.ts';

type Completed = Extract<EntryBody, { type: 'completed' }>;

/** The fields that the journal entries of an attempt share. */
export interface AttemptHeader extends Place {
  try: number;
  resumes?: number;
  startedMs: number;
  input: StoredValue;
}

/** The place of an attempt that opens a pause point, its number, and the number of its resumes. */
export type AttemptPlace = Pick<AttemptHeader, 'block' | 'scope' | 'try' | 'resumes'>;

/**
 * Returns the journal entry for the result of an executor. Throws BLOCK_FAILED if the result is invalid or cannot be
 * recorded.
 */
export function resultEntry(
  returned: unknown,
  header: AttemptHeader,
  { name, tokenOf }: { name: string; tokenOf: (place: AttemptPlace) => string },
  sanitizer: Sanitizer,
): EntryBody | Promise<EntryBody> {
  const result = requireBlockResult(returned, name);
  const label = `The output of the block "${name}"`;
  if ('pause' in result) {
    return mapMaybePromise(sanitizer.store(result.pause, label), (output) => ({
      ...header,
      type: 'paused',
      kind: 'human',
      token: tokenOf(header),
      output,
      ...(result.continues && { continues: true as const }),
    }));
  }
  if ('waitUntilMs' in result) {
    const entry = { ...header, type: 'paused', kind: 'time', dueMs: result.waitUntilMs } as const;
    return mapMaybePromise(sanitizer.store(result.waiting, label), (waiting) =>
      mapMaybePromise(sanitizer.store(result.output, label), (done) => ({ ...entry, output: waiting, done })),
    );
  }
  const { port, set } = result;
  const variables = set && (sanitizer.redactJson(set, label) as { [id: string]: Json });
  return mapMaybePromise(sanitizer.store(result.output, label), (output) => {
    const { block, scope, try: attempt, resumes, startedMs, input } = header;
    const entry: Completed = { type: 'completed', block, scope, try: attempt, startedMs, input, output };
    if (resumes !== undefined) entry.resumes = resumes;
    if (port !== undefined) entry.port = port;
    if (variables) entry.set = variables;
    return entry;
  });
}

function requireBlockResult(returned: unknown, name: string): BlockResult {
  if (typeof returned === 'object' && returned !== null) {
    const result = returned as { [key: string]: unknown };
    if ('pause' in result && isJsonObject(result['pause'])) return returned as BlockResult;
    const hasOutput = isJsonObject(result['output']);
    if (hasOutput && !('waitUntilMs' in result)) return returned as BlockResult;
    if (hasOutput && isJsonObject(result['waiting']) && Number.isFinite(result['waitUntilMs']))
      return returned as BlockResult;
  }
  throw new BlockError(
    'BLOCK_FAILED',
    `The executor of the block "${name}" returned an invalid result: it must return { output }, { pause } or { waitUntilMs, waiting, output }, where output, pause and waiting are objects.`,
    { retryable: false },
  );
}

/** The failure of an attempt, as part of its journal entry. */
export interface AttemptFailure {
  error: BlockFailure;
  retryAfterMs?: number;
}

/** Returns the failure of a block whose executor has thrown `error`, which may be any value. */
export function failureOf(error: unknown, sanitizer: Sanitizer): AttemptFailure {
  if (isBlockError(error)) {
    const { code, message, retryable, details, retryAfterMs } = error;
    return {
      error: {
        code,
        message: sanitizer.redactText(message),
        retryable,
        ...(details !== undefined && { details: detailsOf(details, sanitizer) }),
      },
      ...(retryAfterMs !== undefined && Number.isFinite(retryAfterMs) && { retryAfterMs }),
    };
  }
  const code = isEngineError(error) ? error.code : 'BLOCK_FAILED';
  return {
    error: { code, message: sanitizer.redactText(messageOf(error)), retryable: !isEngineError(error) },
  };
}

function detailsOf(details: unknown, sanitizer: Sanitizer): Json {
  try {
    return sanitizer.redactJson(details, 'The details of the error');
  } catch (error) {
    return messageOf(error);
  }
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return String(error.message) || error.name;
  if (typeof error === 'string') return error;
  try {
    return `The block threw ${JSON.stringify(error) ?? String(error)}, which is not an error.`;
  } catch {
    return `The block threw a value of type ${typeof error}, which is not an error.`;
  }
}
