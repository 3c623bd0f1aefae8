import { expect, it } from 'vitest';
import { cachedWorkflows } from './memory.ts';

it.each([
  ['a small container', { totalMiB: 512, heapMiB: 288 }, 224],
  ['a small heap in a large machine', { totalMiB: 16_384, heapMiB: 256 }, 384],
  ['a large machine', { totalMiB: 16_384, heapMiB: 4288 }, 2000],
  ['hardly any memory', { totalMiB: 300, heapMiB: 200 }, 50],
])('as many workflows are kept as there is room for: %s', (_, memory, count) => {
  expect(cachedWorkflows(memory)).toBe(count);
});

it('the memory of this process is known', () => {
  expect(cachedWorkflows()).toBeGreaterThanOrEqual(50);
});
