import type { Json } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import { afterAll, describe, expect, it } from 'vitest';
import { findReservation, createTestApi } from '../../../../test/support/api.ts';
import type { TestApi, TestApiOptions } from '../../../../test/support/api.ts';
import { APPROVAL_WORKFLOW } from '../../../../test/support/api-workflows.ts';
import type { RunResponse } from '../../../../test/support/api-workflows.ts';
import { ECHO_WORKFLOW, FILE } from '../../../../test/support/api-files.ts';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { overrideMethods } from '../../../../test/support/override-methods.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';

const DAY_MS = 24 * 3_600_000;
/** Too large to be stored inline. */
const LARGE_VALUE = { text: 'x'.repeat(20_000) };

interface Setup extends TestApi {
  clock: TestClock;
  /** Advances the clock and starts a sweep. */
  advanceDays(days: number): void;
  /** Resolves when a sweep has released the reservation of the run. */
  waitUntilReleased(runId: string): Promise<void>;
  deployPublic(definition: Json): Promise<string>;
  run(path: string, input?: { [name: string]: Json }, key?: null): Promise<{ status: number; runId: string }>;
  statusOf(path: string, runId: string): Promise<number>;
}

async function setup(options: TestApiOptions = {}): Promise<Setup> {
  const clock = new TestClock(Date.parse('2026-01-01T00:00:00Z'));
  const timerCallbacks: (() => void)[] = [];
  const api = await createTestApi({
    engineOptions: { clock },
    now: () => clock.now(),
    repeat: (ms, callback) => {
      if (ms === 600_000) timerCallbacks.push(callback);
      return () => undefined;
    },
    ...options,
  });
  const sweep = (): void => timerCallbacks.forEach((callback) => callback());
  return {
    ...api,
    clock,
    advanceDays: (days) => {
      clock.advance(days * DAY_MS);
      sweep();
    },
    waitUntilReleased: async (runId) => {
      // A sweep that began before the clock was advanced may still be running.
      await expect.poll(() => (sweep(), findReservation(api.store, runId))).toBeUndefined();
    },
    deployPublic: async (definition) => {
      const path = `/api/v2/workflows/${await api.deploy(definition)}`;
      await api.call('PATCH', `${path}/deployment`, { body: { isPublicApi: true } });
      return path;
    },
    run: async (path, input = {}, key) => {
      const body = { input, includeFileBase64: false };
      const response = await api.call<RunResponse>('POST', `${path}/execute`, {
        body,
        ...(key === null && { key }),
      });
      return { status: response.status, runId: response.headers.get('x-run-id') ?? '' };
    },
    statusOf: async (path, runId) => (await api.call('GET', `${path}/runs/${runId}`)).status,
  };
}

describe('runs of anonymous callers', () => {
  it('are deleted 30 days after their end with their inputs and files; other runs are kept', async () => {
    const { advanceDays, waitUntilReleased, deployPublic, run, statusOf, engine, call } = await setup();
    const path = await deployPublic(ECHO_WORKFLOW);
    const keyRun = await run(path, { any: LARGE_VALUE });
    const anonymousRun = await run(path, { any: LARGE_VALUE }, null);
    const fileRun = await run(path, { doc: FILE, any: LARGE_VALUE }, null);
    const output = (await engine.getRun(fileRun.runId)).output;
    const [file] = filesIn(output);
    if (!file) throw new Error('There is no file.');
    expect(await (await engine.fileReader(keyRun.runId))(file)).toBe('YWJj');
    advanceDays(29);
    await expect.poll(() => statusOf(path, anonymousRun.runId)).toBe(200);
    advanceDays(2);
    for (const { runId } of [anonymousRun, fileRun]) {
      await waitUntilReleased(runId);
      expect(await statusOf(path, runId)).toBe(404);
    }
    expect(await (await engine.fileReader(keyRun.runId))(file)).toBeUndefined();
    const { data } = await call<{ output: Json }>('GET', `${path}/runs/${keyRun.runId}?includeOutput=true`);
    expect(data.output).toMatchObject({ data: { any: LARGE_VALUE } });
    expect(await call('GET', `${path}/runs`)).toMatchObject({ data: [{ runId: keyRun.runId }] });
  });

  it('are kept while they wait for a person, and deleted 30 days after their end', async () => {
    const { advanceDays, waitUntilReleased, deployPublic, run, statusOf, engine } = await setup();
    const path = await deployPublic(APPROVAL_WORKFLOW);
    const { runId } = await run(path, {}, null);
    const endedRun = await run(await deployPublic(ECHO_WORKFLOW), {}, null);
    advanceDays(400);
    await waitUntilReleased(endedRun.runId);
    expect(await statusOf(path, runId)).toBe(200);
    await engine.resume(runId, { input: { ok: true } });
    advanceDays(29);
    expect(await statusOf(path, runId)).toBe(200);
    advanceDays(2);
    await waitUntilReleased(runId);
    expect(await statusOf(path, runId)).toBe(404);
  });

  it('leave neither a reservation nor files if they did not start', async () => {
    const { advanceDays, waitUntilReleased, deployPublic, run, store } = await setup();
    const path = await deployPublic(ECHO_WORKFLOW);
    const { status, runId } = await run(path, { doc: [FILE, { ...FILE, data: 'broken' }] }, null);
    expect(status).toBe(400);
    const [row] = await store.publicRuns.readPage('2027-01-01', undefined, 10);
    const [key = ''] = JSON.parse(row?.files ?? '[]') as string[];
    expect([row?.run_id, key]).toEqual([runId, expect.stringContaining('sha256:')]);
    advanceDays(31);
    await waitUntilReleased(runId);
    expect(await store.publicRuns.readPage('2027-01-01', undefined, 10)).toEqual([]);
  });

  it('are kept for the retention time that the host sets, which is at least an hour', async () => {
    const unlimitedSetup = await setup({ retention: { publicRunsMs: Infinity } });
    const path = await unlimitedSetup.deployPublic(ECHO_WORKFLOW);
    const { runId } = await unlimitedSetup.run(path, {}, null);
    unlimitedSetup.advanceDays(10_000);
    expect(await unlimitedSetup.statusOf(path, runId)).toBe(200);
    for (const publicRunsMs of [0, 3_599_999, Number.NaN])
      await expect(createTestApi({ retention: { publicRunsMs } })).rejects.toThrow('publicRunsMs');
  });

  it('are deleted by the next process, even if one of them cannot be deleted', async () => {
    const dataFolder = createDataFolder(afterAll);
    const firstSetup = await setup({ storeOptions: { data: dataFolder } });
    const path = await firstSetup.deployPublic(ECHO_WORKFLOW);
    const runs = [await firstSetup.run(path, {}, null), await firstSetup.run(path, {}, null)];
    firstSetup.clock.advance(31 * DAY_MS);
    const failingEngine = overrideMethods(firstSetup.engine, {
      deleteRun: async (runId: string): Promise<void> => {
        if (runId === runs[0]?.runId) throw new Error('The disk is full.');
        await firstSetup.engine.deleteRun(runId);
      },
    });
    const nextSetup = await setup({
      engine: failingEngine,
      store: firstSetup.store,
      now: () => firstSetup.clock.now(),
    });
    await nextSetup.waitUntilReleased(runs[1]?.runId ?? '');
    expect(await findReservation(nextSetup.store, runs[0]?.runId ?? '')).toBeDefined();
    // Each sweep reports the error.
    expect(new Set(nextSetup.reportedErrors.map((error) => (error as Error).message))).toEqual(
      new Set(['The disk is full.']),
    );
  });
});
