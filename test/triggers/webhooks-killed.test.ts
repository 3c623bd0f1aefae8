import { describe, expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { sampledSteps, scale } from '../support/scale.ts';
import { deliver, deployHook } from './killed-webhook.ts';
import type { DeployedWebhook } from './killed-webhook.ts';
import { atMinute, startProcess } from './trigger-process.ts';
import type { Backend, TriggerProcess } from './trigger-process.ts';

/** The work under test must have at least this number of steps. */
const MIN_STEPS = 8;
const TIMEOUT = { timeout: 60_000, interval: 100 };

const start = (backend: Backend): Promise<TriggerProcess> =>
  startProcess({ ...backend, nowMs: atMinute(0), countsResults: true });

/** Expects one completed run for each delivery, with the id in `runIds` (by delivery id), and no other run. */
async function expectOneRunPerDelivery(
  process: TriggerProcess,
  { workflowId }: DeployedWebhook,
  runIds: ReadonlyMap<string, string>,
): Promise<void> {
  const expected = [...runIds].map(([deliveryId, runId]) => ({ deliveryId, runId, status: 'completed' }));
  const byId = (a: { deliveryId: string }, b: { deliveryId: string }) =>
    a.deliveryId < b.deliveryId ? -1 : 1;
  const readDeliveries = () =>
    process.call<{ deliveryId: string; runId: string; status: string }[]>('deliveries');
  await expect
    .poll(async () => (await readDeliveries()).toSorted(byId), TIMEOUT)
    .toEqual(expected.toSorted(byId));
  expect(await process.call<number>('countRuns', { workflowId })).toBe(runIds.size);
}

describe('a webhook', { timeout: scale(300_000, 1_800_000) }, () => {
  const { first, stride } = sampledSteps(4, 'steps from a delivery to its run');

  it('starts exactly one run if its process is killed at any step from the delivery to the run, on SQLite', async () => {
    const data = dataFolder();
    const backend = { store: { data }, engine: { data } };
    let process = await start(backend);
    const hook = await deployHook(process);
    const runIds = new Map<string, string>();
    let step = first;
    for (let isDead = true; isDead; step += stride) {
      const deliveryId = `d${String(step).padStart(3, '0')}`;
      const response = await deliver(process, hook, { deliveryId, killAt: step });
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
          .call<{ runId: string; status: string }[]>('deliveries')
          .catch((): { runId: string; status: string }[] => []);
        return (
          process.isDead() || deliveries.some((each) => each.runId === runId && each.status === 'completed')
        );
      };
      await expect.poll(hasEnded, TIMEOUT).toBe(true);
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
      const postgres = await postgresDatabase();
      const backend = { store: { postgres }, engine: { postgres: { url: postgres, leaseMs: 2000 } } };
      const processes = [await start(backend), await start(backend)];
      const hook = await deployHook(processes[0] as TriggerProcess);
      const runIds = new Map<string, string>();
      const count = scale(4, 30);
      for (let index = 1; index <= count; index += 1) {
        const [killed, other] = processes as [TriggerProcess, TriggerProcess];
        const deliveryId = `d${String(index).padStart(3, '0')}`;
        const deployRequest = {
          key: hook.key,
          request: ['POST', `/workflows/${hook.workflowId}/deploy`] as const,
        };
        const [dyingResponse, response] = await Promise.all([
          deliver(killed, hook, { deliveryId, killAt: ((2 * index) % 11) + 1 }),
          deliver(other, hook, { deliveryId }),
          other.call('request', deployRequest),
        ]);
        expect(response?.status).toBe(200);
        runIds.set(deliveryId, response?.body.runId ?? '');
        if (dyingResponse) expect(dyingResponse.body.runId).toBe(response?.body.runId);
        // The process may die after the response, if it reaches the step.
        if (!killed.isDead()) await killed.call('tick').catch(() => undefined);
        processes.splice(0, 2, other, killed.isDead() ? await start(backend) : killed);
      }
      const [last] = processes as [TriggerProcess, TriggerProcess];
      if (last.isDead()) throw new Error('The last process is dead.');
      await expectOneRunPerDelivery(last, hook, runIds);
    },
  );
});
