import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { dataFolder } from '../../../../test/support/data-folder.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';
import { ControlServer, sendControlRequest } from './control.ts';
import type { ControlOutcome, ControlRequest } from './control.ts';
import { openStores } from './open.ts';
import type { StoreOptions } from './open.ts';
import { openDatabase } from './sqlite/database.ts';
import type { Stores } from './stores.ts';

const REQUEST = { runId: 'r', kind: 'cancel', payload: null } as const;
const HOUR = 3_600_000;

function open(options: StoreOptions): Stores {
  const stores = openStores(options);
  onTestFinished(() => stores.close());
  return stores;
}

it('waits for the outcome of a request', async () => {
  const clock = new TestClock();
  const { control } = open({ clock });
  const answer = sendControlRequest(control, REQUEST, { clock, timeoutMs: 1000 });
  await vi.waitUntil(() => clock.waiting > 0);
  control.serve(() => 'cancelled');
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(25);
  expect(await answer).toEqual({
    id: expect.any(String) as string,
    outcome: { status: 'done', value: 'cancelled' },
  });
});

it('stops waiting after the timeout, and leaves the request open for a later server', async () => {
  const clock = new TestClock();
  const { control } = open({ clock });
  const answer = sendControlRequest(control, REQUEST, { clock, timeoutMs: 90 });
  for (let ms = 0; ms < 90; ms += 15) {
    await vi.waitUntil(() => clock.waiting > 0);
    clock.advance(15);
  }
  const { id, outcome } = await answer;
  expect(outcome).toBeUndefined();
  control.serve(() => 1);
  await vi.waitUntil(() => control.outcome(id));
});

it('stores a failed outcome at the next check, without handling the request again', async () => {
  const request: ControlRequest = { ...REQUEST, id: 'q', createdMs: 0 };
  const saved: ControlOutcome[] = [];
  const errors: unknown[] = [];
  let handled = 0;
  let full = true;
  const server = new ControlServer({
    async settle(_id: string, outcome: ControlOutcome) {
      if (full) throw new Error('disk full');
      saved.push(outcome);
    },
    onError: (error: unknown) => void errors.push(error),
    handle: () => (handled += 1),
  });
  server.check([request]);
  await vi.waitUntil(() => server.hasUnsavedOutcomes);
  server.check([request]);
  await vi.waitUntil(() => server.hasUnsavedOutcomes && errors.length === 2);
  full = false;
  server.check([request]);
  await vi.waitUntil(() => saved.length > 0);
  expect(saved).toEqual([{ status: 'done', value: 1 }]);
  expect(server.hasUnsavedOutcomes).toBe(false);
  await server.stop();
});

/** Adds a request like another process, without a notification. */
function insertRequest(data: string, id: string, more: { createdMs?: number; outcome?: string } = {}): void {
  const db = openDatabase(join(data, 'heddle.db'), { readOnly: false, durability: 'process' });
  db.prepare(
    'INSERT INTO control (id, run_id, kind, payload, created_ms, outcome) VALUES (?, ?, ?, ?, ?, ?)',
  ).run(id, 'r', 'resume', '{"input":1}', more.createdMs ?? 7, more.outcome ?? null);
  db.close();
}

it('finds a request by polling if there is no notification', async () => {
  const data = dataFolder();
  const clock = new TestClock();
  const { control } = open({ data, clock });
  const handled: ControlRequest[] = [];
  control.serve((request) => handled.push(request));
  insertRequest(data, 'polled');
  clock.advance(249);
  expect(handled).toEqual([]);
  clock.advance(1);
  expect(handled).toEqual([
    { id: 'polled', runId: 'r', kind: 'resume', payload: { input: 1 }, createdMs: 7 },
  ]);
  await vi.waitUntil(() => control.outcome('polled'));
  clock.advance(10_000);
  expect(handled).toHaveLength(1);
});

it('handles a request of another process when it is notified, without polling', async () => {
  const data = dataFolder();
  const owner = open({ data, clock: new TestClock() });
  owner.control.serve(({ payload }) => payload);
  const reader = open({ data, readOnly: true });
  const id = await reader.control.add({ ...REQUEST, payload: { reason: 'tired' } });
  await vi.waitUntil(() => reader.control.outcome(id), { timeout: 10_000 });
  expect(reader.control.outcome(id)).toEqual({ status: 'done', value: { reason: 'tired' } });
});

it('stops polling when it is closed, and the next owner handles requests without an outcome again', async () => {
  const data = dataFolder();
  const clock = new TestClock();
  const first = openStores({ data, clock });
  let started = 0;
  first.control.serve(() => new Promise(() => (started += 1)));
  const id = await first.control.add(REQUEST);
  expect(started).toBe(1);
  first.close();
  expect(clock.waiting).toBe(0);
  const second = open({ data, clock });
  second.control.serve(() => 'by the next owner');
  await vi.waitUntil(() => second.control.outcome(id));
});

it('deletes outcomes after a day, but no open request', async () => {
  const data = dataFolder();
  openStores({ data }).close();
  const outcome = '{"status":"done","value":null}';
  insertRequest(data, 'old', { createdMs: 0, outcome });
  insertRequest(data, 'new', { createdMs: 2 * HOUR, outcome });
  insertRequest(data, 'open', { createdMs: 0 });
  const { control } = open({ data, clock: new TestClock(25 * HOUR) });
  await vi.waitUntil(() => control.outcome('old') === undefined);
  expect(control.outcome('new')).toBeDefined();
  const handled: string[] = [];
  control.serve(({ id }) => handled.push(id));
  expect(handled).toEqual(['open']);
});
