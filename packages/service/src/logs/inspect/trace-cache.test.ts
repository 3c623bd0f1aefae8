import type { Span } from '@heddle/core/run';
import { expect, it } from 'vitest';
import type { LogRow } from '../tables.ts';
import { TraceCache } from './trace-cache.ts';

/** Returns a cache of runs with `spans` spans each, and the list of ids that it has read from the engine. */
function cacheOf(spans: number) {
  const read: string[] = [];
  let nowMs = 0;
  const engine = {
    getTrace: (id: string) => {
      read.push(id);
      const children = Array.from({ length: spans - 1 }, () => ({ children: [] }));
      return Promise.resolve({ id, children } as unknown as Span);
    },
  };
  const cache = new TraceCache(engine, () => nowMs);
  return { cache, read, pass: (ms: number) => void (nowMs += ms) };
}

const ended = (engine_id: string) => ({ engine_id, ended_ms: 1, status: 'completed' }) as LogRow;

it('the trace cache builds the trace of an ended run once, for all of its pages', async () => {
  const { cache, read, pass } = cacheOf(40_000);
  for (let page = 0; page < 80; page += 1) {
    expect(await cache.read(ended('a'))).toMatchObject({ id: 'a' });
    pass(1000);
  }
  expect(read).toEqual(['a']);
  pass(61_000);
  await cache.read(ended('a'));
  expect(read).toEqual(['a', 'a']);
});

it('the trace cache builds the trace of an unfinished run once for all of its pages, and again for a new first page', async () => {
  const { cache, read, pass } = cacheOf(40_000);
  const open = { engine_id: 'a', ended_ms: null, status: 'running' } as LogRow;
  const list = async (pages: number) => {
    for (let page = 0; page < pages; page += 1) await cache.read(open, { isNextPage: page > 0 });
  };
  await list(80);
  expect(read).toEqual(['a']);
  await list(2);
  expect(read).toEqual(['a', 'a']);
  pass(5001);
  await cache.read(open, { isNextPage: true });
  expect(read).toEqual(['a', 'a', 'a']);
  // Once the run has ended, its earlier trace is no longer shown.
  await cache.read(ended('a'), { isNextPage: true });
  await cache.read(ended('a'));
  expect(read).toHaveLength(4);
});

it('the trace cache builds the trace of an unfinished run for each request', async () => {
  const { cache, read } = cacheOf(3);
  for (const row of [
    { ...ended('a'), ended_ms: null, status: 'running' },
    { ...ended('b'), status: 'redacting' },
  ] as LogRow[])
    await Promise.all([cache.read(row), cache.read(row)]);
  expect(read).toEqual(['a', 'a', 'b', 'b']);
});

it('the trace cache evicts the least recently used traces when it has too many spans', async () => {
  const { cache, read } = cacheOf(90_000);
  for (const id of ['a', 'b', 'a', 'c', 'a', 'b']) await cache.read(ended(id));
  expect(read).toEqual(['a', 'b', 'c', 'b']);
  const huge = cacheOf(200_001);
  await huge.cache.read(ended('h'));
  await huge.cache.read(ended('h'));
  expect(huge.read).toEqual(['h', 'h']);
});

it('the trace cache builds the trace of an ended run once for concurrent requests', async () => {
  const { cache, read } = cacheOf(3);
  const [first, second] = await Promise.all([cache.read(ended('a')), cache.read(ended('a'))]);
  expect(second).toBe(first);
  expect(read).toEqual(['a']);
});
