import { describe, it } from 'vitest';
import { createDataFolder } from '../../support/data-folder.ts';
import { hasPostgres, createPostgresDatabase } from '../../support/postgres.ts';
import { sampledSteps, pickByScale } from '../../support/scale.ts';
import { timeAtMinute, startProcess } from '../trigger-process.ts';
import type { Backend, TriggerProcess } from '../trigger-process.ts';
import {
  deployFeed,
  expectOneRunPerItem,
  expectOneRunPerItemWhenKilled,
  ROUND_MINUTES,
} from './kill-steps.ts';
import { startNewsFeed } from './setup.ts';

describe('a feed', { timeout: pickByScale(300_000, 1_800_000) }, () => {
  const steps = sampledSteps(9, 'steps from a poll to its run');

  it('starts exactly one run for each item if its process is killed at any step from the poll to the run, on SQLite', async () => {
    const data = createDataFolder();
    await expectOneRunPerItemWhenKilled({ store: { data }, engine: { data } }, steps);
  });

  it.skipIf(!hasPostgres)(
    'starts exactly one run for each item if one of two processes is killed while new versions are deployed, on PostgreSQL',
    async () => {
      const news = await startNewsFeed();
      const postgres = await createPostgresDatabase();
      const backend: Backend = {
        store: { postgres },
        engine: { postgres: { url: postgres, leaseMs: 2000 } },
      };
      const startAt = (nowMs: number) => startProcess({ ...backend, nowMs, countsResults: true });
      const processes = [await startAt(timeAtMinute(0)), await startAt(timeAtMinute(0))];
      const feed = await deployFeed(processes[0] as TriggerProcess, news);
      const titles: string[] = [];
      const roundCount = pickByScale(3, 15);
      let minute = 0;
      for (let round = 1; round <= roundCount; round += 1) {
        const [killedProcess, otherProcess] = processes as [TriggerProcess, TriggerProcess];
        const title = `item ${round}`;
        titles.push(title);
        news.items.unshift({ id: title, title });
        minute += ROUND_MINUTES;
        const deployRequest = {
          key: feed.key,
          request: ['POST', `/workflows/${feed.workflowId}/deploy`] as const,
        };
        await Promise.all([
          killedProcess
            .call('tick', { nowMs: timeAtMinute(minute), killStep: ((3 * round) % 17) + 1 })
            .catch(() => undefined),
          otherProcess.call('tick', { nowMs: timeAtMinute(minute) }),
          otherProcess.call('request', deployRequest),
        ]);
        // The lease of the killed process has expired.
        minute += ROUND_MINUTES;
        await otherProcess.call('tick', { nowMs: timeAtMinute(minute) });
        await expectOneRunPerItem(otherProcess, feed, titles);
        processes.splice(
          0,
          2,
          otherProcess,
          killedProcess.isDead() ? await startAt(timeAtMinute(minute)) : killedProcess,
        );
      }
    },
  );
});
