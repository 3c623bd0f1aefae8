import { beforeAll, it } from 'vitest';
import type { TestFunction, TestOptions } from 'vitest';
import { isSampled, createSeededRandomFor } from './seeded-random.ts';

/** True in `npm run test:full`. */
export const isFullRun = process.env['HEDDLE_SCALE'] === 'full';

/**
 * Returns `full` in `npm run test:full`, else `quick`, for example the number of cases of a property test or the length
 * of a soak.
 */
export function pickByScale(quick: number, full: number): number {
  return isFullRun ? full : quick;
}

/**
 * Returns a random sample of `count` items, in their order; in `npm run test:full` all items. The seed of the sample is
 * HEDDLE_SAMPLE_SEED, which the reporter prints at the end of a run. The reporter lists the number of omitted items,
 * and calls them `description`.
 */
export function sample<T>(items: readonly T[], count: number, description: string): readonly T[] {
  if (isFullRun || items.length <= count) return items;
  reportSkipped(`${items.length - count} of ${items.length} ${description}`);
  const random = createSampleRandom(description);
  const rankedItems = items.map((item, index) => ({ item, index, rank: random() }));
  const pickedItems = rankedItems.toSorted((a, b) => a.rank - b.rank).slice(0, count);
  return pickedItems.toSorted((a, b) => a.index - b.index).map(({ item }) => item);
}

/**
 * Returns a function like `it` for tests that each take seconds. A quick run picks `share` of them, evenly spaced in
 * their order from a random offset. The reporter lists the number of omitted tests, and
 * calls them `description`.
 */
export function sampledTests(
  share: number,
  description: string,
): (title: string, options: TestOptions | TestFunction, test?: TestFunction) => void {
  const define = it;
  let [definedCount, omittedCount] = [0, 0];
  const offset = createSampleRandom(description)();
  reportSkipped(() => (omittedCount > 0 ? `${omittedCount} of ${definedCount} ${description}` : undefined));
  return (title, options, test) => {
    const index = definedCount++;
    if (!isFullRun && !isSampled(index, share, offset)) omittedCount += 1;
    else if (typeof options === 'function') define(title, options);
    else define(title, options, test);
  };
}

/** The steps of a process at which a test stops it: `firstStep` (counted from 1) and every `stride`th step after it. */
export interface Steps {
  readonly firstStep: number;
  readonly stride: number;
}

/**
 * Returns all steps in `npm run test:full`, else every `stride`th step, with a random first step. The reporter lists
 * the share of the other steps, and calls them `description`.
 */
export function sampledSteps(stride: number, description: string): Steps {
  if (isFullRun) return { firstStep: 1, stride: 1 };
  reportSkipped(`${stride - 1} of ${stride} ${description}`);
  return { firstStep: 1 + Math.floor(createSampleRandom(description)() * stride), stride };
}

/**
 * Makes the reporter list `description` among the tests that a quick run or this system skips. If `description` is a
 * function, it is called after the file is collected; if it returns undefined, nothing is listed.
 */
export function reportSkipped(description: string | (() => string | undefined)): void {
  beforeAll(({}, { file }) => {
    const entry = typeof description === 'string' ? description : description();
    if (entry !== undefined) file.meta.skippedTests = [...(file.meta.skippedTests ?? []), entry];
  });
}

/** Returns a generator of random numbers in [0, 1) for the sample with this description, with the seed of this run. */
export function createSampleRandom(description: string): () => number {
  return createSeededRandomFor(Number(process.env['HEDDLE_SAMPLE_SEED']), Buffer.from(description));
}
