import { expectResult } from '../workload.ts';

/** The code of one execution: the body of a function with a parameter `n`. */
export const CODE = 'return n + 1';
/** The value of `n`, and the result of the code for it. */
export const INPUT = 41;
export const RESULT = 42;

/** Packages, and code whose result needs each of them. */
export const PACKAGES = ['lodash', 'dayjs', 'zod'] as const;
export const PACKAGES_CODE = `
const _ = require('lodash');
const dayjs = require('dayjs');
const { z } = require('zod');
const { n: input } = z.object({ n: z.number() }).parse({ n });
return input + (_.chunk([1, 2], 2).length * dayjs(0).add(1, 'day').valueOf()) / 86400000;`;

/** Returns `size` different expressions over `n`. */
export function expressionsOf(size: number): string[] {
  return Array.from({ length: size }, (_, i) => `n + ${i}`);
}

/** Throws unless `values` has the same sum as the results of `expressionsOf(values.length)`. */
export function expectExpressionResults(values: readonly number[]): void {
  const { length } = values;
  expectResult(
    values.reduce((sum, value) => sum + value, 0),
    length * INPUT + (length * (length - 1)) / 2,
  );
}
