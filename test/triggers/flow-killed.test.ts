import type { JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { scale } from '../support/scale.ts';
import { delivered, deployedHook } from './killed-webhook.ts';
import { expectHeldOnceWhenKilled, expectOnce, Processes } from './flow-killed-steps.ts';
import type { FiringProcess } from './killed.ts';

const POLICIES: readonly [name: string, flowControl: JsonObject][] = [
  ['concurrency', { concurrency: 1 }],
  ['a batch', { batch: { size: 2, seconds: 600 } }],
  ['a debounce', { debounce: { seconds: 30 } }],
];

describe('flow control whose process is killed', { timeout: scale(300_000, 1_800_000) }, () => {
  it.each(POLICIES.slice(0, scale(2, 3)))(
    'starts exactly one run for each delivery, at each step of %s, on SQLite',
    async (_name, policy) => {
      const data = dataFolder();
      const place = { store: { data }, engine: { data } };
      await expectHeldOnceWhenKilled(place, policy, { first: 1, stride: scale(9, 1) });
    },
  );

  it.skipIf(!hasPostgres)(
    'starts exactly one run for each delivery while another process works on events, on PostgreSQL',
    async () => {
      const postgres = await postgresDatabase();
      const place = { store: { postgres }, engine: { postgres: { url: postgres, leaseMs: 2000 } } };
      const processes = new Processes(place);
      const both = [await processes.start(), await processes.start()];
      const hook = await deployedHook(both[0] as FiringProcess, { concurrency: 2 });
      const ids: string[] = [];
      const count = scale(3, 20);
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
        // Otherwise it could die in the next round, in which the other one dies.
        await dying.call('now', {}).catch(() => undefined);
        both.splice(0, 2, other, dying.isDead() ? await processes.start() : dying);
      }
      await expectOnce(processes, { from: both[0] as FiringProcess, hook }, ids);
    },
  );
});
