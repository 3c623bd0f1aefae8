import { describe, expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { sampledSteps, scale } from '../support/scale.ts';
import {
  atMinute,
  deployMinutely,
  advanceAndKill,
  expectOneRunPerMinute,
  startProcess,
} from './trigger-process.ts';
import { expectOneRunPerDueTimeWhenKilled } from './killed-steps.ts';

describe('schedules', { timeout: scale(300_000, 1_800_000) }, () => {
  const steps = sampledSteps(3, 'steps from a due time to its run');

  it('start exactly one run if their process is killed at any step from the due time to the run, on SQLite', async () => {
    const data = dataFolder();
    await expectOneRunPerDueTimeWhenKilled({ store: { data }, engine: { data } }, steps);
  });

  it.skipIf(!hasPostgres)(
    'start exactly one run if one of two processes is killed while new versions are deployed, on PostgreSQL',
    async () => {
      const postgres = await postgresDatabase();
      const backend = { store: { postgres }, engine: { postgres: { url: postgres, leaseMs: 2000 } } };
      const startAt = (minute: number) => startProcess({ ...backend, nowMs: atMinute(minute) });
      const processes = [await startAt(0), await startAt(0)];
      const [first] = processes;
      if (!first) throw new Error('There is no process.');
      const { key, workflowIds } = await deployMinutely(first, 3);
      const [redeployedId] = workflowIds;
      const minutes = scale(4, 20);
      for (let minute = 1; minute <= minutes; minute += 1) {
        const nowMs = atMinute(minute);
        const [killed, other] = [processes.shift(), processes.shift()];
        if (!killed || !other) throw new Error('A process is missing.');
        // The version changes while both processes start due runs.
        const [isDead] = await Promise.all([
          advanceAndKill(killed, { nowMs, killAt: ((2 * minute) % 8) + 1 }),
          other.call('tick', { nowMs }),
          other.call('request', { key, request: ['POST', `/workflows/${redeployedId}/deploy`] }),
        ]);
        processes.push(other, isDead ? await startAt(minute) : killed);
      }
      const [last] = processes;
      if (!last) throw new Error('There is no process.');
      const fires = await expectOneRunPerMinute(last, { workflowIds, minutes });
      const versions = fires
        .filter(({ workflowId }) => workflowId === redeployedId)
        .map(({ version }) => version);
      expect(new Set(versions).size).toBeGreaterThan(1);
    },
  );
});
