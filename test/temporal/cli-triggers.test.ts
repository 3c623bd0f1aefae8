import { join } from 'node:path';
import { temporal } from '@heddle/temporal';
import { expect, it } from 'vitest';
import { testApi } from '../support/api.ts';
import { heddle } from '../support/heddle.ts';
import { describeTemporal } from '../support/temporal.ts';
import { scheduledWorkflow } from '../support/triggered.ts';
import { newsFeed } from '../triggers/feeds/setup.ts';
import { placeOn } from './cli.ts';

const ORIGIN = 'https://answers.heddle.test';
const TIMEOUT = { timeout: 60_000, interval: 200 };

it('refuses limits without triggers', async () => {
  const { exit, stderr } = await heddle(['worker', '--limits', 'limits.json']);
  expect([exit, stderr]).toEqual([2, expect.stringContaining('Add --triggers.')]);
});

describeTemporal('heddle worker --triggers', (server) => {
  it('starts the runs of a feed once, and gives their pauses addresses', { timeout: 120_000 }, async () => {
    const place = placeOn(server, { blocks: {}, edges: [] });
    const data = join(place.cwd, '.heddle');
    const { address, namespace } = server;
    const runtime = temporal({ address, namespace, queue: place.queue, data, worker: false });
    // A process that deploys, and whose triggers are inactive.
    const api = await testApi({
      ...{ storeOptions: { data }, engineOptions: { runtime } },
      every: () => () => undefined,
    });
    const news = await newsFeed();
    news.items.push({ id: 'second' }, { id: 'first' });
    const ask = { type: 'human_in_the_loop', subBlocks: {} };
    const fields = { feedUrl: news.url, pollMinutes: 1, backfill: 2 };
    const id = await api.deployed(scheduledWorkflow(fields, { type: 'rss', last: ask }));
    const reach = ['--allow-host', new URL(news.url).host];
    const workers = [1, 2].map(() =>
      place.start(['worker', '--json', '--triggers', '--origin', ORIGIN, ...reach]),
    );
    for (const worker of workers) {
      const ready = JSON.parse(await worker.line()) as object;
      expect(ready).toMatchObject({ roles: ['engine', 'effects', 'segments', 'triggers'] });
    }

    const paused = async () => (await api.engine.listRuns({ status: ['paused'] })).runs;
    await expect.poll(async () => (await paused()).length, TIMEOUT).toBe(2);
    for (const { runId } of await paused()) {
      const [pause] = (await api.engine.getRun(runId)).pauses;
      const url = `${ORIGIN}/resume/${id}/${runId}/${pause?.token}`;
      expect(pause?.output).toMatchObject({ url });
    }
    const { runs } = await api.engine.listRuns({});
    expect(runs).toHaveLength(2);
    for (const worker of workers) worker.child.kill('SIGTERM');
    for (const worker of workers) expect(await worker.ended).toMatchObject({ exit: 0 });
  });
});
