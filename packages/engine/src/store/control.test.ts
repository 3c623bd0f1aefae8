import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';
import { ControlServer, serveRequests, waitForOutcome } from './control.ts';
import type { ControlHandler, ControlOutcome, ControlRequest, ControlStore } from './control.ts';
import { openStores } from './open.ts';
import type { StoreOptions } from './open.ts';
import { openDatabase } from './sqlite/database.ts';
import type { Stores } from './stores.ts';

const REQUEST = { runId: 'r', kind: 'cancel', payload: null } as const;
const HOUR_MS = 3_600_000;

function openTestStores(options: StoreOptions): Stores {
  const stores = openStores(options);
  onTestFinished(() => stores.close());
  return stores;
}

function serve(control: ControlStore, handle: ControlHandler): Promise<() => Promise<void>> {
  return serveRequests(control, { handle, onError: () => undefined });
}

it('waits for the outcome of a request', async () => {
  const clock = new TestClock();
  const { control } = openTestStores({ clock });
  const id = await control.add(REQUEST);
  const outcome = waitForOutcome(control, id, { clock, timeoutMs: 1000 });
  await vi.waitUntil(() => clock.pendingTimerCount > 0);
  await serve(control, () => 'cancelled');
  await vi.waitUntil(() => control.outcome(id));
  clock.advance(10);
  expect(await outcome).toEqual({ status: 'done', value: 'cancelled' });
});

it('stops waiting after the timeout, and leaves the request open for a later server', async () => {
  const clock = new TestClock();
  const { control } = openTestStores({ clock });
  const id = await control.add(REQUEST);
  const outcome = waitForOutcome(control, id, { clock, timeoutMs: 90 });
  for (const ms of [10, 20, 40, 20]) {
    await vi.waitUntil(() => clock.pendingTimerCount > 0);
    clock.advance(ms);
  }
  expect(await outcome).toBeUndefined();
  await serve(control, () => 1);
  await vi.waitUntil(() => control.outcome(id));
});

it('stores an outcome at the next check if its first write failed, without handling the request again', async () => {
  const request: ControlRequest = { ...REQUEST, id: 'q', createdMs: 0 };
  const savedOutcomes: ControlOutcome[] = [];
  const errors: unknown[] = [];
  let handledCount = 0;
  let isDiskFull = true;
  const server = new ControlServer({
    requests: {
      openRequests: () => [request],
      settle: async (_id, outcome) => {
        if (isDiskFull) throw new Error('disk full');
        savedOutcomes.push(outcome);
      },
    },
    onError: (error: unknown) => void errors.push(error),
    handle: () => (handledCount += 1),
  });
  await server.check();
  await vi.waitUntil(() => errors.length === 1);
  await server.check();
  await vi.waitUntil(() => errors.length === 2);
  isDiskFull = false;
  await server.check();
  await server.stop();
  expect(savedOutcomes).toEqual([{ status: 'done', value: 1 }]);
});

it('does not handle a request again that was settled while the open requests were read', async () => {
  const request: ControlRequest = { ...REQUEST, id: 'q', createdMs: 0 };
  const resolveReads: ((requests: ControlRequest[]) => void)[] = [];
  const outcomes: ControlOutcome[] = [];
  let handledCount = 0;
  const server = new ControlServer({
    requests: {
      openRequests: () => new Promise((resolve) => resolveReads.push(resolve)),
      settle: async (_id, outcome) => void outcomes.push(outcome),
    },
    onError: (error: unknown) => {
      throw error;
    },
    handle: () => (handledCount += 1),
  });
  const [firstCheck, secondCheck] = [server.check(), server.check()];
  resolveReads[0]?.([request]);
  await firstCheck;
  await vi.waitUntil(() => outcomes.length === 1);
  // The second read began before the request was settled, so it still returns it.
  resolveReads[1]?.([request]);
  await secondCheck;
  await server.stop();
  expect(handledCount).toBe(1);
});

/** Adds a request as another process would, but without a notification. */
function insertRequest(
  dataFolder: string,
  id: string,
  columns: { createdMs?: number; outcome?: string } = {},
): void {
  const db = openDatabase(join(dataFolder, 'heddle.db'), { readOnly: false, durability: 'process' });
  db.prepare(
    'INSERT INTO control (id, run_id, kind, payload, created_ms, outcome) VALUES (?, ?, ?, ?, ?, ?)',
  ).run(id, 'r', 'resume', '{"input":1}', columns.createdMs ?? 7, columns.outcome ?? null);
  db.close();
}

it('finds a request by polling if there is no notification', async () => {
  const dataFolder = createDataFolder();
  const clock = new TestClock();
  const { control } = openTestStores({ data: dataFolder, clock });
  const handledRequests: ControlRequest[] = [];
  const stop = await serve(control, (request) => handledRequests.push(request));
  insertRequest(dataFolder, 'polled');
  clock.advance(249);
  expect(handledRequests).toEqual([]);
  clock.advance(1);
  await vi.waitUntil(() => handledRequests.length > 0);
  expect(handledRequests).toEqual([
    { id: 'polled', runId: 'r', kind: 'resume', payload: { input: 1 }, createdMs: 7 },
  ]);
  await vi.waitUntil(() => control.outcome('polled'));
  clock.advance(10_000);
  await stop();
  expect(clock.pendingTimerCount).toBe(0);
  expect(handledRequests).toHaveLength(1);
});

it('handles a request of another process when it is notified, without polling', async () => {
  const dataFolder = createDataFolder();
  const ownerStores = openTestStores({ data: dataFolder, clock: new TestClock() });
  const stop = await serve(ownerStores.control, ({ payload }) => payload);
  onTestFinished(() => void stop());
  const readerStores = openTestStores({ data: dataFolder, readOnly: true });
  const id = await readerStores.control.add({ ...REQUEST, payload: { reason: 'tired' } });
  await vi.waitUntil(() => readerStores.control.outcome(id), { timeout: 10_000 });
  expect(readerStores.control.outcome(id)).toEqual({ status: 'done', value: { reason: 'tired' } });
});

it('the next owner handles requests without an outcome again', async () => {
  const dataFolder = createDataFolder();
  const clock = new TestClock();
  const firstStores = openStores({ data: dataFolder, clock });
  const id = await firstStores.control.add(REQUEST);
  let startedCount = 0;
  await serve(firstStores.control, () => new Promise(() => (startedCount += 1)));
  expect(startedCount).toBe(1);
  firstStores.close();
  const secondStores = openTestStores({ data: dataFolder, clock });
  await serve(secondStores.control, () => 'by the next owner');
  await vi.waitUntil(() => secondStores.control.outcome(id));
});

it('deletes outcomes after a day, but no open request', async () => {
  const dataFolder = createDataFolder();
  openStores({ data: dataFolder }).close();
  const outcome = '{"status":"done","value":null}';
  insertRequest(dataFolder, 'old', { createdMs: 0, outcome });
  insertRequest(dataFolder, 'new', { createdMs: 2 * HOUR_MS, outcome });
  insertRequest(dataFolder, 'open', { createdMs: 0 });
  const { control } = openTestStores({ data: dataFolder, clock: new TestClock(25 * HOUR_MS) });
  await vi.waitUntil(() => control.outcome('old') === undefined);
  expect(control.outcome('new')).toBeDefined();
  expect(await control.openRequests()).toMatchObject([{ id: 'open' }]);
});
