import type { JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { sample, sampledSteps, pickByScale } from '../support/scale.ts';
import { deliver, deployWebhookWorkflow } from './deployed-webhook.ts';
import {
  expectDeliveredOnceWhenKilled,
  expectEachDeliveryInOneRun,
  ProcessFactory,
} from './flow-kill-steps.ts';
import type { TriggerProcess } from './trigger-process.ts';

const POLICIES: readonly [name: string, flowControl: JsonObject][] = [
  ['a concurrency limit', { concurrency: 1 }],
  ['a batch', { batch: { size: 2, seconds: 600 } }],
  ['a debounce delay', { debounce: { seconds: 30 } }],
];

describe('flow control', { timeout: pickByScale(300_000, 1_800_000) }, () => {
  const steps = sampledSteps(9, 'steps from a delivery to its run with flow control');
  it.each(sample(POLICIES, 2, 'policies of flow control with kills'))(
    'with %s puts each delivery into exactly one run if the process is killed at any step, on SQLite',
    async (_name, policy) => {
      const data = createDataFolder();
      const backend = { store: { data }, engine: { data } };
      await expectDeliveredOnceWhenKilled(backend, policy, steps);
    },
  );

  it.skipIf(!hasPostgres)(
    'puts each delivery into exactly one run if one of two processes is killed, on PostgreSQL',
    async () => {
      const postgres = await createPostgresDatabase();
      const backend = { store: { postgres }, engine: { postgres: { url: postgres, leaseMs: 2000 } } };
      const processFactory = new ProcessFactory(backend);
      const processPair = [await processFactory.start(), await processFactory.start()];
      const hook = await deployWebhookWorkflow(processPair[0] as TriggerProcess, { concurrency: 2 });
      const deliveryIds: string[] = [];
      const roundCount = pickByScale(3, 20);
      for (let index = 1; index <= roundCount; index += 1) {
        const [killedProcess, otherProcess] = processPair as [TriggerProcess, TriggerProcess];
        const deliveryId = `d${String(index).padStart(3, '0')}`;
        deliveryIds.push(deliveryId, `${deliveryId}b`);
        const [, response] = await Promise.all([
          deliver(killedProcess, hook, { deliveryId, killStep: ((5 * index) % 31) + 1 }),
          deliver(otherProcess, hook, { deliveryId }),
          deliver(otherProcess, hook, { deliveryId: `${deliveryId}b` }),
        ]);
        expect(response?.status).toBe(200);
        // Resets `killStep`. Otherwise the process could die in the next round, in which the other process dies.
        await killedProcess.call('tick', {}).catch(() => undefined);
        processPair.splice(
          0,
          2,
          otherProcess,
          killedProcess.isDead() ? await processFactory.start() : killedProcess,
        );
      }
      await expectEachDeliveryInOneRun(
        processFactory,
        { process: processPair[0] as TriggerProcess, hook },
        deliveryIds,
      );
    },
  );
});
