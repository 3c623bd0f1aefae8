import type { JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { scale } from '../support/scale.ts';
import { delivered, deployedHook } from './killed-webhook.ts';
import type { Hook } from './killed-webhook.ts';
import { atMinute, startProcess } from './killed.ts';
import type { FiringProcess, Place } from './killed.ts';

const TIMEOUT = { timeout: 60_000, interval: 100 };
/** Fewer steps than there are from a delivery to its run. */
const LEAST_STEPS = 15;

interface Delivered {
  deliveryId: string;
  runId: string;
  status: string;
}

/** A process whose clock moves on each time that it is asked. */
class Processes {
  readonly #place: Place;
  #minute = 0;

  constructor(place: Place) {
    this.#place = place;
  }

  start(): Promise<FiringProcess> {
    return startProcess({ ...this.#place, nowMs: atMinute(this.#minute), countsResults: true });
  }

  /** Moves the clock of the process on, and returns what it has accepted. */
  async deliveries(from: FiringProcess): Promise<Delivered[]> {
    this.#minute += 1;
    await from.call('now', { nowMs: atMinute(this.#minute) });
    return from.call<Delivered[]>('deliveries');
  }
}

/** Expects that each delivery is in one completed run, and that there is no other run. */
async function expectOnce(
  processes: Processes,
  { from, hook: { id } }: { from: FiringProcess; hook: Hook },
  deliveryIds: readonly string[],
): Promise<void> {
  const isDone = async () => (await processes.deliveries(from)).every(({ status }) => status === 'completed');
  await expect.poll(isDone, TIMEOUT).toBe(true);
  const found = await processes.deliveries(from);
  expect(found.map(({ deliveryId }) => deliveryId)).toEqual(deliveryIds.toSorted());
  const runs = new Set(found.map(({ runId }) => runId)).size;
  expect(await from.call<number>('runs', { workflowId: id })).toBe(runs);
}

const POLICIES: readonly [name: string, flowControl: JsonObject][] = [
  ['concurrency', { concurrency: 1 }],
  ['a batch', { batch: { size: 2, seconds: 600 } }],
  ['a debounce', { debounce: { seconds: 30 } }],
];

describe('flow control whose process is killed', { timeout: 300_000 }, () => {
  it.each(POLICIES.slice(0, scale(2, 3)))(
    'at each step of %s loses nothing and starts nothing twice, on SQLite',
    async (_name, policy) => {
      const data = dataFolder();
      const processes = new Processes({ store: { data }, engine: { data } });
      let process = await processes.start();
      const hook = await deployedHook(process, policy);
      const ids: string[] = [];
      let step = 1;
      for (let isDead = true; isDead; step += scale(9, 1)) {
        const deliveryId = `d${String(step).padStart(3, '0')}`;
        ids.push(deliveryId);
        const first = await delivered(process, hook, { deliveryId, dieAt: step });
        if (first) {
          // It may die while it lets the run start.
          const isOver = async (): Promise<boolean> => {
            const found = await processes.deliveries(process).catch((): Delivered[] => []);
            return process.isDead() || found.every(({ status }) => status === 'completed');
          };
          await expect.poll(isOver, TIMEOUT).toBe(true);
          isDead = process.isDead();
          if (isDead) process = await processes.start();
          continue;
        }
        process = await processes.start();
        expect(await delivered(process, hook, { deliveryId })).toMatchObject({ status: 200 });
      }
      await expectOnce(processes, { from: process, hook }, ids);
      expect(step).toBeGreaterThan(LEAST_STEPS);
    },
  );

  it.skipIf(!hasPostgres)(
    'while another process accepts and releases events too loses nothing and starts nothing twice, on PostgreSQL',
    async () => {
      const postgres = await postgresDatabase();
      const place = { store: { postgres }, engine: { postgres: { url: postgres, leaseMs: 2000 } } };
      const processes = new Processes(place);
      const both = [await processes.start(), await processes.start()];
      const hook = await deployedHook(both[0] as FiringProcess, { concurrency: 2 });
      const ids: string[] = [];
      const count = scale(3, 50);
      for (let index = 1; index <= count; index += 1) {
        const [dying, other] = both as [FiringProcess, FiringProcess];
        const deliveryId = `d${String(index).padStart(3, '0')}`;
        ids.push(deliveryId, `${deliveryId}b`);
        const [, two] = await Promise.all([
          delivered(dying, hook, { deliveryId, dieAt: ((5 * index) % 31) + 1 }),
          delivered(other, hook, { deliveryId }),
          delivered(other, hook, { deliveryId: `${deliveryId}b` }),
        ]);
        expect(two?.status).toBe(200);
        both.splice(0, 2, other, dying.isDead() ? await processes.start() : dying);
      }
      await expectOnce(processes, { from: both[0] as FiringProcess, hook }, ids);
    },
  );
});
