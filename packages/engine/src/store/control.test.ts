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

const ASK = { runId: 'r', kind: 'cancel', payload: null } as const;
const HOUR = 3_600_000;

function open(options: StoreOptions): Stores {
  const stores = openStores(options);
  onTestFinished(() => stores.close());
  return stores;
}

it('waits for the outcome of a request', async () => {
  const clock = new TestClock();
  const { control } = open({ clock });
  const answer = sendControlRequest(control, ASK, { clock, timeoutMs: 1000 });
  await vi.waitUntil(() => clock.waiting > 0);
  control.serve(() => 'cancelled');
  await new Promise((resolve) => setImmediate(resolve));
  clock.advance(25);
  expect(await answer).toEqual({
    id: expect.any(String) as string,
    outcome: { status: 'done', value: 'cancelled' },
  });
});

it('gives up waiting after its time, leaving the request to who serves later', async () => {
  const clock = new TestClock();
  const { control } = open({ clock });
  const answer = sendControlRequest(control, ASK, { clock, timeoutMs: 90 });
  for (let ms = 0; ms < 90; ms += 15) {
    await vi.waitUntil(() => clock.waiting > 0);
    clock.advance(15);
  }
  const { id, outcome } = await answer;
  expect(outcome).toBeUndefined();
  control.serve(() => 1);
  await vi.waitUntil(() => control.outcome(id));
});

it('writes an outcome that could not be written at the next look, without taking the request again', async () => {
  const request: ControlRequest = { ...ASK, id: 'q', createdMs: 0 };
  const saved: ControlOutcome[] = [];
  const errors: unknown[] = [];
  let handled = 0;
  let full = true;
  const table = {
    open: () => (saved.length === 0 ? [request] : []),
    async settle(_id: string, outcome: ControlOutcome) {
      if (full) throw new Error('disk full');
      saved.push(outcome);
    },
    onError: (error: unknown) => void errors.push(error),
  };
  const service = new ControlServer(table, () => (handled += 1));
  service.check();
  await vi.waitUntil(() => service.behind);
  service.check();
  await vi.waitUntil(() => service.behind && errors.length === 2);
  full = false;
  service.check();
  await vi.waitUntil(() => saved.length > 0);
  expect(saved).toEqual([{ status: 'done', value: 1 }]);
  expect(service.behind).toBe(false);
  await service.stop();
});

/** A request of another process that rings no bell. */
function leave(data: string, id: string, more: { createdMs?: number; outcome?: string } = {}): void {
  const db = openDatabase(join(data, 'heddle.db'), { readOnly: false, durability: 'process' });
  db.prepare(
    'INSERT INTO control (id, run_id, kind, payload, created_ms, outcome) VALUES (?, ?, ?, ?, ?, ?)',
  ).run(id, 'r', 'resume', '{"input":1}', more.createdMs ?? 7, more.outcome ?? null);
  db.close();
}

it('finds a request at the next slow poll where no bell rings', async () => {
  const data = dataFolder();
  const clock = new TestClock();
  const { control } = open({ data, clock });
  const taken: ControlRequest[] = [];
  control.serve((request) => taken.push(request));
  leave(data, 'silent');
  clock.advance(249);
  expect(taken).toEqual([]);
  clock.advance(1);
  expect(taken).toEqual([{ id: 'silent', runId: 'r', kind: 'resume', payload: { input: 1 }, createdMs: 7 }]);
  await vi.waitUntil(() => control.outcome('silent'));
  clock.advance(10_000);
  expect(taken).toHaveLength(1);
});

it('hears the bell of a process beside it, with no poll', async () => {
  const data = dataFolder();
  const owner = open({ data, clock: new TestClock() });
  owner.control.serve(({ payload }) => payload);
  const visitor = open({ data, readOnly: true });
  const id = await visitor.control.add({ ...ASK, payload: { reason: 'tired' } });
  await vi.waitUntil(() => visitor.control.outcome(id), { timeout: 10_000 });
  expect(visitor.control.outcome(id)).toEqual({ status: 'done', value: { reason: 'tired' } });
});

it('polls no more once it is closed, and takes requests again that had no outcome', async () => {
  const data = dataFolder();
  const clock = new TestClock();
  const first = openStores({ data, clock });
  let begun = 0;
  first.control.serve(() => new Promise(() => (begun += 1)));
  const id = await first.control.add(ASK);
  expect(begun).toBe(1);
  first.close();
  expect(clock.waiting).toBe(0);
  const second = open({ data, clock });
  second.control.serve(() => 'by the next owner');
  await vi.waitUntil(() => second.control.outcome(id));
});

it('forgets outcomes after a day, and never a request', async () => {
  const data = dataFolder();
  openStores({ data }).close();
  const outcome = '{"status":"done","value":null}';
  leave(data, 'old', { createdMs: 0, outcome });
  leave(data, 'new', { createdMs: 2 * HOUR, outcome });
  leave(data, 'open', { createdMs: 0 });
  const { control } = open({ data, clock: new TestClock(25 * HOUR) });
  await vi.waitUntil(() => control.outcome('old') === undefined);
  expect(control.outcome('new')).toBeDefined();
  const taken: string[] = [];
  control.serve(({ id }) => taken.push(id));
  expect(taken).toEqual(['open']);
});
