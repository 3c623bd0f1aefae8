import { BlockError, isJsonObject } from '@heddle/core/blocks';
import type { BlockResult, Json } from '@heddle/core/blocks';
import type { EntryBody, Place, Stored } from '@heddle/core/run';
import type { Keeper } from '../records/sanitizer.ts';

type Completed = Extract<EntryBody, { type: 'completed' }>;

/** A try of a block, as its entry names it. */
export interface Tried extends Place {
  try: number;
  startedMs: number;
  input: Stored;
}

/** The entry for what an executor gave back. Throws BLOCK_FAILED when that cannot be recorded. */
export function answerOf(
  given: unknown,
  tried: Tried,
  { name, token }: { name: string; token: (place: Place, attempt: number) => string },
  keeper: Keeper,
): EntryBody | Promise<EntryBody> {
  const result = checked(given, name);
  const what = `The output of the block "${name}"`;
  if ('pause' in result) {
    return after(keeper.keep(result.pause, what), (output) => ({
      ...tried,
      type: 'paused',
      kind: 'human',
      token: token(tried, tried.try),
      output,
    }));
  }
  if ('waitUntilMs' in result) {
    const entry = { ...tried, type: 'paused', kind: 'time', dueMs: result.waitUntilMs } as const;
    return after(keeper.keep(result.waiting, what), (output) =>
      after(keeper.keep(result.output, what), (done) => ({ ...entry, output, done })),
    );
  }
  const { port, set } = result;
  const variables = set && (keeper.json(set, what) as { [id: string]: Json });
  return after(keeper.keep(result.output, what), (output) => {
    const { block, scope, try: attempt, startedMs, input } = tried;
    const entry: Completed = {
      type: 'completed',
      block,
      scope,
      try: attempt,
      startedMs,
      input,
      output,
    };
    if (port !== undefined) entry.port = port;
    if (variables) entry.set = variables;
    return entry;
  });
}

/** What an executor may give back; anything else is its fault and said so. */
function checked(given: unknown, name: string): BlockResult {
  if (typeof given === 'object' && given !== null) {
    const result = given as { [key: string]: unknown };
    if ('pause' in result && isJsonObject(result['pause'])) return given as BlockResult;
    const ends = isJsonObject(result['output']);
    if (ends && !('waitUntilMs' in result)) return given as BlockResult;
    if (ends && isJsonObject(result['waiting']) && Number.isFinite(result['waitUntilMs']))
      return given as BlockResult;
  }
  throw new BlockError(
    'BLOCK_FAILED',
    `The executor of the block "${name}" gave back no result: it must give { output }, { pause } or { waitUntilMs, waiting, output }, each an object.`,
    { retryable: false },
  );
}

/** `next` of a value that may be there already: a promise costs a turn of the event loop. */
export function after<T, R>(value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value);
}
