import type { JsonObject } from '@heddle/core';
import { expect } from 'vitest';
import type { Steps } from '../support/scale.ts';
import { delivered, deployedHook } from './killed-webhook.ts';
import type { Hook } from './killed-webhook.ts';
import { atMinute, startProcess } from './killed.ts';
import type { FiringProcess, Place } from './killed.ts';

const TIMEOUT = { timeout: 60_000, interval: 100 };
/** The test must kill a process at more steps than this. */
const LEAST_STEPS = 15;
/** The same lower bound without flow control. */
const LEAST_UNHELD_STEPS = 8;

interface Delivered {
  deliveryId: string;
  runId: string;
  status: string;
}

/** Starts processes. Their clock advances by a minute with each call of `deliveries`. */
export class Processes {
  readonly #place: Place;
  #minute = 0;

  constructor(place: Place) {
    this.#place = place;
  }

  start(): Promise<FiringProcess> {
    return startProcess({ ...this.#place, nowMs: atMinute(this.#minute), countsResults: true });
  }

  /** Advances the clock of the process by a minute. Returns the deliveries that the process has accepted so far. */
  async deliveries(from: FiringProcess): Promise<Delivered[]> {
    this.#minute += 1;
    await from.call('now', { nowMs: atMinute(this.#minute) });
    return from.call<Delivered[]>('deliveries');
  }
}

/** Expects that each delivery is in one completed run, and that there is no other run. */
export async function expectOnce(
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

/**
 * Kills a process at steps from a delivery to its run, with flow control if `policy` is given. Expects that each
 * delivery is in one run.
 */
export async function expectHeldOnceWhenKilled(
  place: Place,
  policy: JsonObject | undefined,
  { first, stride }: Steps,
): Promise<void> {
  const processes = new Processes(place);
  let process = await processes.start();
  const hook = await deployedHook(process, policy);
  const ids: string[] = [];
  let step = first;
  for (let isDead = true; isDead; step += stride) {
    const deliveryId = `d${String(step).padStart(3, '0')}`;
    ids.push(deliveryId);
    const first = await delivered(process, hook, { deliveryId, dieAt: step });
    if (first) {
      // The process may die while it starts the run.
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
  expect(step).toBeGreaterThan(policy ? LEAST_STEPS : LEAST_UNHELD_STEPS);
}
