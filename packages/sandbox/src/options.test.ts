import { expect, it } from 'vitest';
import { resolveOptions } from './options.ts';
import { createSandbox } from './sandbox.ts';

it('options that are not declared are ignored, even if they have the names of internal limits', () => {
  const options = { maxQueued: 7, maxRunnableJobs: 99, maxJobsPerProcess: 99 } as never;
  expect(resolveOptions(options)).toMatchObject({ maxQueued: 7, maxRunnableJobs: 4, maxJobsPerProcess: 64 });
});

it('an option that is not a whole number is refused', () => {
  expect(() => resolveOptions({ maxQueued: 1.5 })).toThrow('The sandbox option maxQueued is 1.5');
});

it.each([
  ['maxProcesses', { maxProcesses: 0 }],
  ['python.maxProcesses', { maxProcesses: 1, python: { maxProcesses: 0 } }],
  ['python.minProcesses', { minProcesses: 1, python: { minProcesses: -1 } }],
  ['native.maxProcesses', { maxProcesses: 1, native: { maxProcesses: 0 } }],
])('an invalid %s is refused by this name', (name, options) => {
  expect(() => createSandbox(options)).toThrow(
    expect.objectContaining({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(`The sandbox option ${name} is `) as string,
    }) as Error,
  );
});
