import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { sampledSteps, pickByScale } from '../support/scale.ts';
import { deliver, deployWebhookWorkflow } from './deployed-webhook.ts';
import type { DeployedWebhook } from './deployed-webhook.ts';
import { timeAtMinute, startProcess } from './trigger-process.ts';
import type { Backend, TriggerProcess } from './trigger-process.ts';

/** The work under test must have at least this number of steps. */
const MIN_STEPS = 8;
const POLL_OPTIONS = { timeout: 60_000, interval: 100 };

const start = (backend: Backend): Promise<TriggerProcess> =>
  startProcess({ ...backend, nowMs: timeAtMinute(0), countsResults: true });

/** Expects one completed run for each delivery, with the id in `runIds` (by delivery id), and no other run. */
async function expectOneRunPerDelivery(
  process: TriggerProcess,
  { workflowId }: DeployedWebhook,
  runIds: ReadonlyMap<string, string>,
): Promise<void> {
  const expected = [...runIds].map(([deliveryId, runId]) => ({ deliveryId, runId, status: 'completed' }));
  const compareDeliveryIds = (a: { deliveryId: string }, b: { deliveryId: string }) =>
    a.deliveryId < b.deliveryId ? -1 : 1;
  const readDeliveries = () =>
    process.call<{ deliveryId: string; runId: string; status: string }[]>('listDeliveries');
  await expect
    .poll(async () => (await readDeliveries()).toSorted(compareDeliveryIds), POLL_OPTIONS)
    .toEqual(expected.toSorted(compareDeliveryIds));
  expect(await process.call<number>('countRuns', { workflowId })).toBe(runIds.size);
}

describe('a webhook', { timeout: pickByScale(300_000, 1_800_000) }, () => {
  const { firstStep, stride } = sampledSteps(4, 'steps from a delivery to its run');

  it('starts exactly one run if its process is killed at any step from the delivery to the run, on SQLite', async () => {
    const data = createDataFolder();
    const backend = { store: { data }, engine: { data } };
    let process = await start(backend);
    const hook = await deployWebhookWorkflow(process);
    const runIds = new Map<string, string>();
    let step = firstStep;
    for (let isDead = true; isDead; step += stride) {
      const deliveryId = `d${String(step).padStart(3, '0')}`;
      const response = await deliver(process, hook, { deliveryId, killStep: step });
      // The sender retries a delivery that was not answered.
      if (!response) {
        process = await start(backend);
        const retryResponse = await deliver(process, hook, { deliveryId });
        expect(retryResponse).toMatchObject({ status: 200 });
        runIds.set(deliveryId, retryResponse?.body.runId ?? '');
        continue;
      }
      expect(response.status).toBe(200);
      runIds.set(deliveryId, response.body.runId);
      // The process may die after the response.
      const { runId } = response.body;
      const hasEnded = async () => {
        const deliveries = await process
          .call<{ runId: string; status: string }[]>('listDeliveries')
          .catch((): { runId: string; status: string }[] => []);
        return (
          process.isDead() ||
          deliveries.some((delivery) => delivery.runId === runId && delivery.status === 'completed')
        );
      };
      await expect.poll(hasEnded, POLL_OPTIONS).toBe(true);
      // From here on the process does not die, even if its work after the run reaches the step.
      await process.call('tick').catch(() => undefined);
      isDead = process.isDead();
      if (isDead) process = await start(backend);
    }
    await expectOneRunPerDelivery(process, hook, runIds);
    expect(step - stride).toBeGreaterThanOrEqual(MIN_STEPS);
  });

  it.skipIf(!hasPostgres)(
    'starts exactly one run if one of two processes that receive the same delivery is killed, on PostgreSQL',
    async () => {
      const postgres = await createPostgresDatabase();
      const backend = { store: { postgres }, engine: { postgres: { url: postgres, leaseMs: 2000 } } };
      const processes = [await start(backend), await start(backend)];
      const hook = await deployWebhookWorkflow(processes[0] as TriggerProcess);
      const runIds = new Map<string, string>();
      const roundCount = pickByScale(4, 30);
      for (let index = 1; index <= roundCount; index += 1) {
        const [killedProcess, otherProcess] = processes as [TriggerProcess, TriggerProcess];
        const deliveryId = `d${String(index).padStart(3, '0')}`;
        const deployRequest = {
          key: hook.key,
          request: ['POST', `/workflows/${hook.workflowId}/deploy`] as const,
        };
        const [killedProcessResponse, response] = await Promise.all([
          deliver(killedProcess, hook, { deliveryId, killStep: ((2 * index) % 11) + 1 }),
          deliver(otherProcess, hook, { deliveryId }),
          otherProcess.call('request', deployRequest),
        ]);
        expect(response?.status).toBe(200);
        runIds.set(deliveryId, response?.body.runId ?? '');
        if (killedProcessResponse) expect(killedProcessResponse.body.runId).toBe(response?.body.runId);
        // The process may die after the response, if it reaches the step.
        if (!killedProcess.isDead()) await killedProcess.call('tick').catch(() => undefined);
        processes.splice(0, 2, otherProcess, killedProcess.isDead() ? await start(backend) : killedProcess);
      }
      const [lastProcess] = processes as [TriggerProcess, TriggerProcess];
      if (lastProcess.isDead()) throw new Error('The last process is dead.');
      await expectOneRunPerDelivery(lastProcess, hook, runIds);
    },
  );
});
