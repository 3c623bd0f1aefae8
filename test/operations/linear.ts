import { expect } from 'vitest';
import { countOperations } from '../support/operations.ts';

/** Work on inputs of growing size, whose operations are counted. */
export interface MeasuredWork<T> {
  /** The size of the smallest input. From this size on, work that is limited has reached its limit. */
  size: number;
  /** Returns an input of the size `n`. */
  make(n: number): T;
  /** Does the work on the input. */
  run(input: T): unknown;
}

/**
 * Maximum ratio of the second increase to the first: 2, with a margin for a logarithmic factor. Quadratic work has a
 * ratio of 4.
 */
const MAX_RATIO = 2.6;

/** The cost of the first calls of a function, and other constant costs. */
const CONSTANT_COST = 5000;

/**
 * Expects linear growth: the increase from `2n` to `4n` is at most twice the increase from `n` to `2n`, with
 * a margin for a logarithmic factor.
 */
export async function expectLinear<T>({ size, make, run }: MeasuredWork<T>): Promise<void> {
  await run(make(8));
  const inputs = [size, 2 * size, 4 * size].map((n) => make(n));
  const counts = await countOperations(inputs.map((input) => () => run(input)));
  const [baseCount = 0, doubledCount = 0, quadrupledCount = 0] = counts;
  const message = `operations for ${size}, ${2 * size} and ${4 * size}: ${baseCount}, ${doubledCount}, ${quadrupledCount}`;
  expect(quadrupledCount - doubledCount, message).toBeLessThanOrEqual(
    MAX_RATIO * Math.max(0, doubledCount - baseCount) + CONSTANT_COST,
  );
}
