import { describe, it } from 'vitest';
import { dataFolder } from '../../support/data-folder.ts';
import { hasPostgres, postgresDatabase } from '../../support/postgres.ts';
import { sampledSteps, scale } from '../../support/scale.ts';
import { atMinute, startProcess } from '../trigger-process.ts';
import type { Backend, TriggerProcess } from '../trigger-process.ts';
import {
  deployFeed,
  expectOneRunPerItem,
  expectOneRunPerItemWhenKilled,
  ROUND_MINUTES,
} from './killed-steps.ts';
import { newsFeed } from './setup.ts';

describe('a feed', { timeout: scale(300_000, 1_800_000) }, () => {
  const steps = sampledSteps(9, 'steps from a poll to its run');

  it('starts exactly one run for each item if its process is killed at any step from the poll to the run, on SQLite', async () => {
    const data = dataFolder();
    await expectOneRunPerItemWhenKilled({ store: { data }, engine: { data } }, steps);
  });

  it.skipIf(!hasPostgres)(
    'starts exactly one run for each item if one of two processes is killed while new versions are deployed, on PostgreSQL',
    async () => {
      const news = await newsFeed();
      const postgres = await postgresDatabase();
      const backend: Backend = {
        store: { postgres },
        engine: { postgres: { url: postgres, leaseMs: 2000 } },
      };
      const startAt = (nowMs: number) => startProcess({ ...backend, nowMs, countsResults: true });
      const processes = [await startAt(atMinute(0)), await startAt(atMinute(0))];
      const feed = await deployFeed(processes[0] as TriggerProcess, news);
      const titles: string[] = [];
      const rounds = scale(3, 15);
      let minute = 0;
      for (let round = 1; round <= rounds; round += 1) {
        const [killed, other] = processes as [TriggerProcess, TriggerProcess];
        const title = `item ${round}`;
        titles.push(title);
        news.items.unshift({ id: title, title });
        minute += ROUND_MINUTES;
        const deployRequest = { key: feed.key, request: ['POST', `/workflows/${feed.id}/deploy`] as const };
        await Promise.all([
          killed
            .call('tick', { nowMs: atMinute(minute), killAt: ((3 * round) % 17) + 1 })
            .catch(() => undefined),
          other.call('tick', { nowMs: atMinute(minute) }),
          other.call('request', deployRequest),
        ]);
        // The lease of the killed process has expired.
        minute += ROUND_MINUTES;
        await other.call('tick', { nowMs: atMinute(minute) });
        await expectOneRunPerItem(other, feed, titles);
        processes.splice(0, 2, other, killed.isDead() ? await startAt(atMinute(minute)) : killed);
      }
    },
  );
});
