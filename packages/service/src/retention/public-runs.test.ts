import type { Json } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import { afterAll, describe, expect, it } from 'vitest';
import { reservationOf, testApi } from '../../../../test/support/api.ts';
import type { TestApi, TestApiOptions } from '../../../../test/support/api.ts';
import { APPROVAL } from '../../../../test/support/api-workflows.ts';
import type { ShownRun } from '../../../../test/support/api-workflows.ts';
import { ECHO, FILE } from '../../../../test/support/api-files.ts';
import { dataFolder } from '../../../../test/support/data-folder.ts';
import { overriding } from '../../../../test/support/overriding.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';

const DAY_MS = 24 * 3_600_000;
/** Too large to be stored inline. */
const LARGE = { text: 'x'.repeat(20_000) };

interface Setup extends TestApi {
  clock: TestClock;
  /** Advances the clock and starts a sweep. */
  pass(days: number): void;
  /** Resolves when a sweep has released the reservation of the run. */
  untilReleased(runId: string): Promise<void>;
  published(exported: Json): Promise<string>;
  run(path: string, input?: { [name: string]: Json }, key?: null): Promise<{ status: number; runId: string }>;
  statusOf(path: string, runId: string): Promise<number>;
}

async function setup(options: TestApiOptions = {}): Promise<Setup> {
  const clock = new TestClock(Date.parse('2026-01-01T00:00:00Z'));
  const beats: (() => void)[] = [];
  const api = await testApi({
    engineOptions: { clock },
    now: () => clock.now(),
    every: (ms, beat) => {
      if (ms === 600_000) beats.push(beat);
      return () => undefined;
    },
    ...options,
  });
  const sweep = (): void => beats.forEach((beat) => beat());
  return {
    ...api,
    clock,
    pass: (days) => {
      clock.advance(days * DAY_MS);
      sweep();
    },
    untilReleased: async (runId) => {
      // A sweep that began before the clock was advanced may still be running.
      await expect.poll(() => (sweep(), reservationOf(api.store, runId))).toBeUndefined();
    },
    published: async (exported) => {
      const path = `/api/v2/workflows/${await api.deployed(exported)}`;
      await api.call('PATCH', `${path}/deployment`, { body: { isPublicApi: true } });
      return path;
    },
    run: async (path, input = {}, key) => {
      const body = { input, includeFileBase64: false };
      const sent = await api.call<ShownRun>('POST', `${path}/execute`, {
        body,
        ...(key === null && { key }),
      });
      return { status: sent.status, runId: sent.headers.get('x-run-id') ?? '' };
    },
    statusOf: async (path, runId) => (await api.call('GET', `${path}/runs/${runId}`)).status,
  };
}

describe('runs of anonymous callers', () => {
  it('are deleted 30 days after their end with their inputs and files; other runs are kept', async () => {
    const { pass, untilReleased, published, run, statusOf, engine, call } = await setup();
    const path = await published(ECHO);
    const mine = await run(path, { any: LARGE });
    const theirs = await run(path, { any: LARGE }, null);
    const withFile = await run(path, { doc: FILE, any: LARGE }, null);
    const output = (await engine.getRun(withFile.runId)).output;
    const [file] = filesIn(output);
    if (!file) throw new Error('There is no file.');
    expect(await (await engine.fileReader(mine.runId))(file)).toBe('YWJj');
    pass(29);
    await expect.poll(() => statusOf(path, theirs.runId)).toBe(200);
    pass(2);
    for (const { runId } of [theirs, withFile]) {
      await untilReleased(runId);
      expect(await statusOf(path, runId)).toBe(404);
    }
    expect(await (await engine.fileReader(mine.runId))(file)).toBeUndefined();
    const { data } = await call<{ output: Json }>('GET', `${path}/runs/${mine.runId}?includeOutput=true`);
    expect(data.output).toMatchObject({ data: { any: LARGE } });
    expect(await call('GET', `${path}/runs`)).toMatchObject({ data: [{ runId: mine.runId }] });
  });

  it('are kept while they wait for a person, and deleted some time after their end', async () => {
    const { pass, untilReleased, published, run, statusOf, engine } = await setup();
    const path = await published(APPROVAL);
    const { runId } = await run(path, {}, null);
    const ended = await run(await published(ECHO), {}, null);
    pass(400);
    await untilReleased(ended.runId);
    expect(await statusOf(path, runId)).toBe(200);
    await engine.resume(runId, { input: { ok: true } });
    pass(29);
    expect(await statusOf(path, runId)).toBe(200);
    pass(2);
    await untilReleased(runId);
    expect(await statusOf(path, runId)).toBe(404);
  });

  it('leave neither reservation nor files when they did not start', async () => {
    const { pass, untilReleased, published, run, store } = await setup();
    const path = await published(ECHO);
    const { status, runId } = await run(path, { doc: [FILE, { ...FILE, data: 'broken' }] }, null);
    expect(status).toBe(400);
    const [row] = await store.publicRuns.page('2027-01-01', undefined, 10);
    const [key = ''] = JSON.parse(row?.files ?? '[]') as string[];
    expect([row?.run_id, key]).toEqual([runId, expect.stringContaining('sha256:')]);
    pass(31);
    await untilReleased(runId);
    expect(await store.publicRuns.page('2027-01-01', undefined, 10)).toEqual([]);
  });

  it('are kept for the retention of the host, at least an hour', async () => {
    const forever = await setup({ retention: { publicRunsMs: Infinity } });
    const path = await forever.published(ECHO);
    const { runId } = await forever.run(path, {}, null);
    forever.pass(10_000);
    expect(await forever.statusOf(path, runId)).toBe(200);
    for (const publicRunsMs of [0, 3_599_999, Number.NaN])
      await expect(testApi({ retention: { publicRunsMs } })).rejects.toThrow('publicRunsMs');
  });

  it('are deleted by the next process, even if one of them cannot be deleted', async () => {
    const data = dataFolder(afterAll);
    const first = await setup({ storeOptions: { data } });
    const path = await first.published(ECHO);
    const runs = [await first.run(path, {}, null), await first.run(path, {}, null)];
    first.clock.advance(31 * DAY_MS);
    const failing = overriding(first.engine, {
      deleteRun: async (runId: string): Promise<void> => {
        if (runId === runs[0]?.runId) throw new Error('The disk is full.');
        await first.engine.deleteRun(runId);
      },
    });
    const next = await setup({ engine: failing, store: first.store, now: () => first.clock.now() });
    await next.untilReleased(runs[1]?.runId ?? '');
    expect(await reservationOf(next.store, runs[0]?.runId ?? '')).toBeDefined();
    // Each sweep reports it.
    expect(new Set(next.faults.map((fault) => (fault as Error).message))).toEqual(
      new Set(['The disk is full.']),
    );
  });
});
