import { describe, it } from 'vitest';
import { dataFolder } from '../../support/data-folder.ts';
import { hasPostgres, postgresDatabase } from '../../support/postgres.ts';
import { drawnSteps, scale } from '../../support/scale.ts';
import { atMinute, startProcess } from '../killed.ts';
import type { FiringProcess, Place } from '../killed.ts';
import { deployFeed, expectOnceEach, expectPolledOnceWhenKilled, MINUTES } from './killed-steps.ts';
import { newsFeed } from './setup.ts';

describe('a feed whose process is killed', { timeout: scale(300_000, 1_800_000) }, () => {
  const steps = drawnSteps(9, 'steps from a poll to its run');

  it('starts exactly one run for each item, at each step from the poll to the run, on SQLite', async () => {
    const data = dataFolder();
    await expectPolledOnceWhenKilled({ store: { data }, engine: { data } }, steps);
  });

  it.skipIf(!hasPostgres)(
    'starts exactly one run for each item while another process polls it and versions change, on PostgreSQL',
    async () => {
      const news = await newsFeed();
      const postgres = await postgresDatabase();
      const place: Place = { store: { postgres }, engine: { postgres: { url: postgres, leaseMs: 2000 } } };
      const begin = (nowMs: number) => startProcess({ ...place, nowMs, countsResults: true });
      const processes = [await begin(atMinute(0)), await begin(atMinute(0))];
      const polled = await deployFeed(processes[0] as FiringProcess, news);
      const titles: string[] = [];
      const rounds = scale(3, 15);
      let minute = 0;
      for (let round = 1; round <= rounds; round += 1) {
        const [dying, other] = processes as [FiringProcess, FiringProcess];
        const title = `item ${round}`;
        titles.push(title);
        news.items.unshift({ id: title, title });
        minute += MINUTES;
        const deploys = { key: polled.key, request: ['POST', `/workflows/${polled.id}/deploy`] as const };
        await Promise.all([
          dying
            .call('now', { nowMs: atMinute(minute), dieAt: ((3 * round) % 17) + 1 })
            .catch(() => undefined),
          other.call('now', { nowMs: atMinute(minute) }),
          other.call('request', deploys),
        ]);
        // The lease of the process that has died has ended.
        minute += MINUTES;
        await other.call('now', { nowMs: atMinute(minute) });
        await expectOnceEach(other, polled, titles);
        processes.splice(0, 2, other, dying.isDead() ? await begin(atMinute(minute)) : dying);
      }
    },
  );
});
