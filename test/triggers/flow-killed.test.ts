import type { JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { sample, sampledSteps, scale } from '../support/scale.ts';
import { deliver, deployHook } from './killed-webhook.ts';
import { expectDeliveredOnceWhenKilled, expectEachDeliveryInOneRun, Processes } from './flow-killed-steps.ts';
import type { TriggerProcess } from './trigger-process.ts';

const POLICIES: readonly [name: string, flowControl: JsonObject][] = [
  ['a concurrency limit', { concurrency: 1 }],
  ['a batch', { batch: { size: 2, seconds: 600 } }],
  ['a debounce delay', { debounce: { seconds: 30 } }],
];

describe('flow control', { timeout: scale(300_000, 1_800_000) }, () => {
  const steps = sampledSteps(9, 'steps from a delivery to its run with flow control');
  it.each(sample(POLICIES, 2, 'policies of flow control with kills'))(
    'with %s puts each delivery into exactly one run if the process is killed at any step, on SQLite',
    async (_name, policy) => {
      const data = dataFolder();
      const backend = { store: { data }, engine: { data } };
      await expectDeliveredOnceWhenKilled(backend, policy, steps);
    },
  );

  it.skipIf(!hasPostgres)(
    'puts each delivery into exactly one run if one of two processes is killed, on PostgreSQL',
    async () => {
      const postgres = await postgresDatabase();
      const backend = { store: { postgres }, engine: { postgres: { url: postgres, leaseMs: 2000 } } };
      const processes = new Processes(backend);
      const pair = [await processes.start(), await processes.start()];
      const hook = await deployHook(pair[0] as TriggerProcess, { concurrency: 2 });
      const ids: string[] = [];
      const count = scale(3, 20);
      for (let index = 1; index <= count; index += 1) {
        const [killed, other] = pair as [TriggerProcess, TriggerProcess];
        const deliveryId = `d${String(index).padStart(3, '0')}`;
        ids.push(deliveryId, `${deliveryId}b`);
        const [, response] = await Promise.all([
          deliver(killed, hook, { deliveryId, killAt: ((5 * index) % 31) + 1 }),
          deliver(other, hook, { deliveryId }),
          deliver(other, hook, { deliveryId: `${deliveryId}b` }),
        ]);
        expect(response?.status).toBe(200);
        // Resets `killAt`. Otherwise the process could die in the next round, in which the other process dies.
        await killed.call('tick', {}).catch(() => undefined);
        pair.splice(0, 2, other, killed.isDead() ? await processes.start() : killed);
      }
      await expectEachDeliveryInOneRun(processes, { process: pair[0] as TriggerProcess, hook }, ids);
    },
  );
});
