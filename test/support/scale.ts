import { beforeAll, it } from 'vitest';
import type { TestFunction, TestOptions } from 'vitest';
import { isSampled, seededRandomFor } from './seeded-random.ts';

/** True in `npm run test:full`. */
export const isFull = process.env['HEDDLE_SCALE'] === 'full';

/**
 * Returns `full` in `npm run test:full`, else `quick`, for example the number of cases of a property test or the length
 * of a soak.
 */
export function scale(quick: number, full: number): number {
  return isFull ? full : quick;
}

/**
 * Returns a random sample of `count` items, in their order; in `npm run test:full` all items. The seed of the sample is
 * HEDDLE_SAMPLE_SEED, which the reporter prints at the end of a run. The reporter lists the number of the other items,
 * with `what` as their description.
 */
export function sample<T>(items: readonly T[], count: number, what: string): readonly T[] {
  if (isFull || items.length <= count) return items;
  reportSkipped(`${items.length - count} of ${items.length} ${what}`);
  const random = sampleRandom(what);
  const ranked = items.map((item, index) => ({ item, index, rank: random() }));
  const picked = ranked.toSorted((a, b) => a.rank - b.rank).slice(0, count);
  return picked.toSorted((a, b) => a.index - b.index).map(({ item }) => item);
}

/**
 * Returns a function like `it` for tests that each take seconds. A quick run picks `share` of them, evenly spaced in
 * their order from a random offset. The reporter lists the number of the other tests, with `what` as
 * their description.
 */
export function sampledTests(
  share: number,
  what: string,
): (title: string, options: TestOptions | TestFunction, test?: TestFunction) => void {
  const define = it;
  let [defined, omitted] = [0, 0];
  const offset = sampleRandom(what)();
  reportSkipped(() => (omitted > 0 ? `${omitted} of ${defined} ${what}` : undefined));
  return (title, options, test) => {
    const index = defined++;
    if (!isFull && !isSampled(index, share, offset)) omitted += 1;
    else if (typeof options === 'function') define(title, options);
    else define(title, options, test);
  };
}

/** The steps of a process at which a test stops it: `first` (counted from 1) and every `stride`th step after it. */
export interface Steps {
  readonly first: number;
  readonly stride: number;
}

/**
 * Returns all steps in `npm run test:full`, else every `stride`th step, with a random first step. The reporter lists
 * the share of the other steps, with `what` as their description.
 */
export function sampledSteps(stride: number, what: string): Steps {
  if (isFull) return { first: 1, stride: 1 };
  reportSkipped(`${stride - 1} of ${stride} ${what}`);
  return { first: 1 + Math.floor(sampleRandom(what)() * stride), stride };
}

/**
 * Makes the reporter list `what` among the tests that a quick run or this system skips. If `what` is a function, it is
 * called after the file is collected; if it returns undefined, nothing is listed.
 */
export function reportSkipped(what: string | (() => string | undefined)): void {
  beforeAll(({}, { file }) => {
    const entry = typeof what === 'string' ? what : what();
    if (entry !== undefined) file.meta.skipped = [...(file.meta.skipped ?? []), entry];
  });
}

/** Returns a generator of random numbers in [0, 1) for the sample `what`, with the seed of this run. */
export function sampleRandom(what: string): () => number {
  return seededRandomFor(Number(process.env['HEDDLE_SAMPLE_SEED']), Buffer.from(what));
}
