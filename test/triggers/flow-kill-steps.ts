import type { JsonObject } from '@heddle/core';
import { expect } from 'vitest';
import type { Steps } from '../support/scale.ts';
import { deliver, deployWebhookWorkflow } from './deployed-webhook.ts';
import type { DeployedWebhook } from './deployed-webhook.ts';
import { timeAtMinute, startProcess } from './trigger-process.ts';
import type { Backend, TriggerProcess } from './trigger-process.ts';

const POLL_OPTIONS = { timeout: 60_000, interval: 100 };
/** The work under test must have more steps than this. */
const MIN_STEPS = 15;
/** The same lower bound without flow control. */
const MIN_STEPS_WITHOUT_POLICY = 8;

interface Delivery {
  deliveryId: string;
  runId: string;
  status: string;
}

/** Starts processes with a common clock, which advances by a minute with each call of `advanceAndListDeliveries`. */
export class ProcessFactory {
  readonly #backend: Backend;
  #minute = 0;

  constructor(backend: Backend) {
    this.#backend = backend;
  }

  start(): Promise<TriggerProcess> {
    return startProcess({ ...this.#backend, nowMs: timeAtMinute(this.#minute), countsResults: true });
  }

  /** Advances the clock of the process by a minute. Returns the deliveries that the process has accepted so far. */
  async advanceAndListDeliveries(process: TriggerProcess): Promise<Delivery[]> {
    this.#minute += 1;
    await process.call('tick', { nowMs: timeAtMinute(this.#minute) });
    return process.call<Delivery[]>('listDeliveries');
  }
}

const isCompleted = ({ status }: Delivery): boolean => status === 'completed';

/** Expects that each delivery is in one completed run, and that there is no other run. */
export async function expectEachDeliveryInOneRun(
  processFactory: ProcessFactory,
  { process, hook: { workflowId } }: { process: TriggerProcess; hook: DeployedWebhook },
  deliveryIds: readonly string[],
): Promise<void> {
  const isDone = async () => (await processFactory.advanceAndListDeliveries(process)).every(isCompleted);
  await expect.poll(isDone, POLL_OPTIONS).toBe(true);
  const deliveries = await processFactory.advanceAndListDeliveries(process);
  expect(deliveries.map(({ deliveryId }) => deliveryId)).toEqual(deliveryIds.toSorted());
  const runCount = new Set(deliveries.map(({ runId }) => runId)).size;
  expect(await process.call<number>('countRuns', { workflowId })).toBe(runCount);
}

/**
 * Kills a process at steps from a delivery to its run, with flow control if `policy` is given. Expects that each
 * delivery is in one run.
 */
export async function expectDeliveredOnceWhenKilled(
  backend: Backend,
  policy: JsonObject | undefined,
  { firstStep, stride }: Steps,
): Promise<void> {
  const processFactory = new ProcessFactory(backend);
  let process = await processFactory.start();
  const hook = await deployWebhookWorkflow(process, policy);
  const deliveryIds: string[] = [];
  let step = firstStep;
  for (let isDead = true; isDead; step += stride) {
    const deliveryId = `d${String(step).padStart(3, '0')}`;
    deliveryIds.push(deliveryId);
    const response = await deliver(process, hook, { deliveryId, killStep: step });
    if (response) {
      // The process may die while it starts the run. It no longer dies after its clock has advanced, which only flow
      // control needs.
      const listDeliveries = () =>
        policy
          ? processFactory.advanceAndListDeliveries(process)
          : process.call<Delivery[]>('listDeliveries');
      const isOver = async (): Promise<boolean> => {
        const deliveries = await listDeliveries().catch((): Delivery[] => []);
        return process.isDead() || deliveries.every(isCompleted);
      };
      await expect.poll(isOver, POLL_OPTIONS).toBe(true);
      isDead = process.isDead();
      if (isDead) process = await processFactory.start();
      continue;
    }
    process = await processFactory.start();
    expect(await deliver(process, hook, { deliveryId })).toMatchObject({ status: 200 });
  }
  await expectEachDeliveryInOneRun(processFactory, { process, hook }, deliveryIds);
  expect(step).toBeGreaterThan(policy ? MIN_STEPS : MIN_STEPS_WITHOUT_POLICY);
}
