import { expect, it } from 'vitest';
import { resolveOptions } from './options.ts';

it('options that are not declared are ignored, even if they have the names of internal limits', () => {
  const options = { maxQueued: 7, pipeline: 99, maxJobsPerProcess: 99 } as never;
  expect(resolveOptions(options)).toMatchObject({ maxQueued: 7, pipeline: 4, maxJobsPerProcess: 64 });
});

it('an option that is not a whole number is refused', () => {
  expect(() => resolveOptions({ maxQueued: 1.5 })).toThrow('The sandbox option maxQueued is 1.5');
});
