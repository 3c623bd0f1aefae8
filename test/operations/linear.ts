import { expect } from 'vitest';
import { countOperations } from '../support/operations.ts';

export interface Growth<T> {
  /** The smallest input: large enough that bounded work is at its bound. */
  size: number;
  make(n: number): T;
  pass(input: T): unknown;
}

/** Twice the step from `n` to `2n`, and a logarithm's part: a quadratic pass makes it 4 times. */
const MOST = 2.6;

/** What the first uses of a function cost, and other things that do not grow. */
const FIXED = 5000;

/** Expects that doubling the input twice doubles what the second doubling adds, within a logarithm. */
export async function expectLinear<T>({ size, make, pass }: Growth<T>): Promise<void> {
  await pass(make(8));
  const counts: number[] = [];
  for (const factor of [1, 2, 4]) {
    const input = make(size * factor);
    counts.push(await countOperations(() => pass(input)));
  }
  const [one = 0, two = 0, four = 0] = counts;
  const told = `operations for ${size}, ${2 * size} and ${4 * size}: ${one}, ${two}, ${four}`;
  expect(four - two, told).toBeLessThanOrEqual(MOST * Math.max(0, two - one) + FIXED);
}
