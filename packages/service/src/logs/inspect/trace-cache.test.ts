import type { Span } from '@heddle/core/run';
import { expect, it } from 'vitest';
import type { LogRow } from '../tables.ts';
import { TraceCache } from './trace-cache.ts';

/** Returns a cache of runs with `spanCount` spans each, and the list of ids that it has read from the engine. */
function createCache(spanCount: number) {
  const readIds: string[] = [];
  let nowMs = 0;
  const engine = {
    getTrace: (id: string) => {
      readIds.push(id);
      const children = Array.from({ length: spanCount - 1 }, () => ({ children: [] }));
      return Promise.resolve({ id, children } as unknown as Span);
    },
  };
  const cache = new TraceCache(engine, () => nowMs);
  return { cache, readIds, advance: (ms: number) => void (nowMs += ms) };
}

const endedRun = (engine_id: string) => ({ engine_id, ended_ms: 1, status: 'completed' }) as LogRow;

it('the trace cache builds the trace of an ended run once, for all of its pages', async () => {
  const { cache, readIds, advance } = createCache(40_000);
  for (let page = 0; page < 80; page += 1) {
    expect(await cache.read(endedRun('a'))).toMatchObject({ id: 'a' });
    advance(1000);
  }
  expect(readIds).toEqual(['a']);
  advance(61_000);
  await cache.read(endedRun('a'));
  expect(readIds).toEqual(['a', 'a']);
});

it('the trace cache builds the trace of an unfinished run once for all of its pages, and again for a new first page', async () => {
  const { cache, readIds, advance } = createCache(40_000);
  const unfinishedRun = { engine_id: 'a', ended_ms: null, status: 'running' } as LogRow;
  const readPages = async (count: number) => {
    for (let page = 0; page < count; page += 1) await cache.read(unfinishedRun, { isNextPage: page > 0 });
  };
  await readPages(80);
  expect(readIds).toEqual(['a']);
  await readPages(2);
  expect(readIds).toEqual(['a', 'a']);
  advance(5001);
  await cache.read(unfinishedRun, { isNextPage: true });
  expect(readIds).toEqual(['a', 'a', 'a']);
  // Once the run has ended, its earlier trace is no longer returned.
  await cache.read(endedRun('a'), { isNextPage: true });
  await cache.read(endedRun('a'));
  expect(readIds).toHaveLength(4);
});

it('the trace cache builds the trace of an unfinished run again for each first page', async () => {
  const { cache, readIds } = createCache(3);
  for (const row of [
    { ...endedRun('a'), ended_ms: null, status: 'running' },
    { ...endedRun('b'), status: 'redacting' },
  ] as LogRow[])
    await Promise.all([cache.read(row), cache.read(row)]);
  expect(readIds).toEqual(['a', 'a', 'b', 'b']);
});

it('the trace cache evicts the least recently used traces when it has too many spans', async () => {
  const { cache, readIds } = createCache(90_000);
  for (const id of ['a', 'b', 'a', 'c', 'a', 'b']) await cache.read(endedRun(id));
  expect(readIds).toEqual(['a', 'b', 'c', 'b']);
  const hugeTraceSetup = createCache(200_001);
  await hugeTraceSetup.cache.read(endedRun('h'));
  await hugeTraceSetup.cache.read(endedRun('h'));
  expect(hugeTraceSetup.readIds).toEqual(['h', 'h']);
});

it('the trace cache builds the trace of an ended run once for concurrent requests', async () => {
  const { cache, readIds } = createCache(3);
  const [first, second] = await Promise.all([cache.read(endedRun('a')), cache.read(endedRun('a'))]);
  expect(second).toBe(first);
  expect(readIds).toEqual(['a']);
});
