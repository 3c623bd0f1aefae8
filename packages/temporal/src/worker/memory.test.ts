import { expect, it } from 'vitest';
import { defaultCacheSize, workflowCacheSize } from './memory.ts';

it.each([
  ['a small container', { totalMiB: 512, heapMiB: 288 }, 224],
  ['a small heap on a large machine', { totalMiB: 16_384, heapMiB: 256 }, 384],
  ['a large machine', { totalMiB: 16_384, heapMiB: 4288 }, 2000],
  ['hardly any memory', { totalMiB: 300, heapMiB: 200 }, 50],
])('the cache holds as many workflows as memory allows: %s', (_, memory, count) => {
  expect(defaultCacheSize(memory)).toBe(count);
});

it('accepts a configured cache size of at least 2: with a smaller cache the SDK may lose work', () => {
  expect(workflowCacheSize(7)).toBe(7);
  expect(workflowCacheSize(undefined)).toBe(defaultCacheSize());
  for (const count of [0, 1, -1, 2.5, Number.NaN])
    expect(() => workflowCacheSize(count)).toThrow(/tuning\.maxCachedWorkflows is .*at least 2/);
});

it('detects the memory of this process', () => {
  expect(defaultCacheSize()).toBeGreaterThanOrEqual(50);
});
