import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { sampledSteps, pickByScale } from '../support/scale.ts';
import {
  timeAtMinute,
  deployMinuteSchedules,
  advanceAndKill,
  expectOneRunPerMinute,
  startProcess,
} from './trigger-process.ts';
import { expectOneRunPerDueTimeWhenKilled } from './kill-steps.ts';

describe('schedules', { timeout: pickByScale(300_000, 1_800_000) }, () => {
  const steps = sampledSteps(3, 'steps from a due time to its run');

  it('start exactly one run if their process is killed at any step from the due time to the run, on SQLite', async () => {
    const data = createDataFolder();
    await expectOneRunPerDueTimeWhenKilled({ store: { data }, engine: { data } }, steps);
  });

  it.skipIf(!hasPostgres)(
    'start exactly one run if one of two processes is killed while new versions are deployed, on PostgreSQL',
    async () => {
      const postgres = await createPostgresDatabase();
      const backend = { store: { postgres }, engine: { postgres: { url: postgres, leaseMs: 2000 } } };
      const startAt = (minute: number) => startProcess({ ...backend, nowMs: timeAtMinute(minute) });
      const processes = [await startAt(0), await startAt(0)];
      const [firstProcess] = processes;
      if (!firstProcess) throw new Error('There is no process.');
      const { key, workflowIds } = await deployMinuteSchedules(firstProcess, 3);
      const [redeployedId] = workflowIds;
      const minuteCount = pickByScale(4, 20);
      for (let minute = 1; minute <= minuteCount; minute += 1) {
        const nowMs = timeAtMinute(minute);
        const [killedProcess, otherProcess] = [processes.shift(), processes.shift()];
        if (!killedProcess || !otherProcess) throw new Error('A process is missing.');
        // The version changes while both processes start due runs.
        const [isDead] = await Promise.all([
          advanceAndKill(killedProcess, { nowMs, killStep: ((2 * minute) % 8) + 1 }),
          otherProcess.call('tick', { nowMs }),
          otherProcess.call('request', { key, request: ['POST', `/workflows/${redeployedId}/deploy`] }),
        ]);
        processes.push(otherProcess, isDead ? await startAt(minute) : killedProcess);
      }
      const [lastProcess] = processes;
      if (!lastProcess) throw new Error('There is no process.');
      const triggeredRuns = await expectOneRunPerMinute(lastProcess, { workflowIds, minutes: minuteCount });
      const versions = triggeredRuns
        .filter(({ workflowId }) => workflowId === redeployedId)
        .map(({ version }) => version);
      expect(new Set(versions).size).toBeGreaterThan(1);
    },
  );
});
