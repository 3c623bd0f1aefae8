import { beforeAll } from 'vitest';
import { numbersFor } from './seeded.ts';

/** True in `npm run test:full`. */
export const isFull = process.env['HEDDLE_SCALE'] === 'full';

/** Returns `full` in `npm run test:full`, else `quick`: how many cases a property test draws, how long a soak runs. */
export function scale(quick: number, full: number): number {
  return isFull ? full : quick;
}

/**
 * Returns `count` of the items, drawn with the seed of this run (HEDDLE_SAMPLE_SEED, printed at its end), in their order;
 * all of them in `npm run test:full`. The reporter lists the rest as `what`.
 */
export function sample<T>(items: readonly T[], count: number, what: string): readonly T[] {
  if (isFull || items.length <= count) return items;
  leftOut(`${items.length - count} of ${items.length} ${what}`);
  const draw = numbersFor(Number(process.env['HEDDLE_SAMPLE_SEED']), Buffer.from(what));
  const ranked = items.map((item, index) => ({ item, index, rank: draw() }));
  const drawn = ranked.toSorted((a, b) => a.rank - b.rank).slice(0, count);
  return drawn.toSorted((a, b) => a.index - b.index).map(({ item }) => item);
}

/** Has the reporter list `what` as left out of a quick run. */
export function leftOut(what: string): void {
  beforeAll(({}, { file }) => {
    file.meta.leftOut = [...(file.meta.leftOut ?? []), what];
  });
}
