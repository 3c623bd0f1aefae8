import { expect, it } from 'vitest';
import { cachedWorkflows, workflowsToKeep } from './memory.ts';

it.each([
  ['a small container', { totalMiB: 512, heapMiB: 288 }, 224],
  ['a small heap in a large machine', { totalMiB: 16_384, heapMiB: 256 }, 384],
  ['a large machine', { totalMiB: 16_384, heapMiB: 4288 }, 2000],
  ['hardly any memory', { totalMiB: 300, heapMiB: 200 }, 50],
])('as many workflows are kept as there is room for: %s', (_, memory, count) => {
  expect(cachedWorkflows(memory)).toBe(count);
});

it('a worker keeps as many as it is told to, but not none: the SDK loses what runs have done then', () => {
  expect(workflowsToKeep(7)).toBe(7);
  expect(workflowsToKeep(undefined)).toBe(cachedWorkflows());
  for (const count of [0, 1, -1, 2.5, Number.NaN])
    expect(() => workflowsToKeep(count)).toThrow(/tuning\.cachedWorkflows is .*at least 2/);
});

it('the memory of this process is known', () => {
  expect(cachedWorkflows()).toBeGreaterThanOrEqual(50);
});
