import { join } from 'node:path';
import { temporal } from '@heddle/temporal';
import type { Kysely } from 'kysely';
import { expect, it } from 'vitest';
import { testApi } from '../support/api.ts';
import type { TriggerTables } from '../../packages/service/src/triggers/tables.ts';
import { heddle } from '../support/heddle.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { isFull, reportSkipped } from '../support/scale.ts';
import { describeTemporal } from '../support/temporal.ts';
import { triggerWorkflow } from '../support/trigger-workflow.ts';
import { newsFeed } from '../triggers/feeds/setup.ts';
import { ON_TEMPORAL, createProject } from './cli.ts';

const ORIGIN = 'https://answers.heddle.test';
const POLL = { timeout: 60_000, interval: 200 };

it('heddle worker refuses limits without triggers', async () => {
  const { exit, stderr } = await heddle(['worker', '--limits', 'limits.json']);
  expect([exit, stderr]).toEqual([2, expect.stringContaining('Add --triggers.')]);
});

describeTemporal('heddle worker --triggers', (server) => {
  it('starts the runs of a feed once, and gives their pauses resume URLs', { timeout: 120_000 }, async () => {
    const project = createProject(server, { blocks: {}, edges: [] });
    const data = join(project.cwd, '.heddle');
    const { address, namespace } = server;
    const runtime = temporal({ address, namespace, taskQueue: project.queue, data, worker: false });
    // This API deploys workflows; its triggers are inactive.
    const api = await testApi({
      ...{ storeOptions: { data }, engineOptions: { runtime } },
      every: () => () => undefined,
    });
    const news = await newsFeed();
    news.items.push({ id: 'second' }, { id: 'first' });
    const ask = { type: 'human_in_the_loop', subBlocks: {} };
    const fields = { feedUrl: news.url, pollMinutes: 1, backfill: 2 };
    const id = await api.deploy(triggerWorkflow(fields, { type: 'rss', last: ask }));
    const allowedHost = ['--allow-host', new URL(news.url).host];
    const workers = [1, 2].map(() =>
      project.start(['worker', '--json', '--triggers', '--origin', ORIGIN, ...allowedHost]),
    );
    for (const worker of workers) {
      const ready = JSON.parse(await worker.firstLine()) as object;
      expect(ready).toMatchObject({ roles: ['engine', 'effects', 'segments', 'triggers'] });
    }

    const pausedRuns = async () => (await api.engine.listRuns({ status: ['paused'] })).runs;
    await expect.poll(async () => (await pausedRuns()).length, POLL).toBe(2);
    for (const { runId } of await pausedRuns()) {
      const [pause] = (await api.engine.getRun(runId)).pauses;
      const url = `${ORIGIN}/resume/${id}/${runId}/${pause?.token}`;
      expect(pause?.output).toMatchObject({ url });
    }
    const { runs } = await api.engine.listRuns({});
    expect(runs).toHaveLength(2);
    for (const worker of workers) worker.child.kill('SIGTERM');
    for (const worker of workers) expect(await worker.ended).toMatchObject({ exit: 0 });
  });

  it.skipIf(!hasPostgres || !isFull)(
    'starts each run of a schedule and a webhook once, while heddle serve --postgres runs and after it is killed',
    async () => {
      const { cwd, queue, start } = createProject(server, { blocks: {}, edges: [] });
      const url = await postgresDatabase();
      const env = { HEDDLE_API_SECRET: 'a secret of at least thirty-two characters' };
      const shared = { address: server.address, namespace: server.namespace, taskQueue: queue };
      const runtime = temporal({ ...shared, postgres: url, worker: false });
      // This API deploys workflows; its triggers are inactive.
      const api = await testApi({
        storeOptions: { postgres: { url }, secret: env.HEDDLE_API_SECRET },
        ...{ engineOptions: { runtime }, every: () => () => undefined },
      });
      const storeArgs = ['--postgres', url];
      const serve = start(['serve', '--port', '0', '--json', ...ON_TEMPORAL, ...storeArgs], { cwd, env });
      const { url: base } = JSON.parse(await serve.firstLine()) as { url: string };
      const worker = start(['worker', '--json', '--triggers', ...storeArgs], { cwd, env });
      await worker.firstLine();
      const yearly = triggerWorkflow({ scheduleType: 'cron', cronExpression: '0 0 1 1 *' });
      const schedules = [await api.deploy(yearly), await api.deploy(yearly), await api.deploy(yearly)];
      const fields = { idempotencyField: 'id' };
      const webhookWorkflowId = await api.deploy(triggerWorkflow(fields, { type: 'generic_webhook' }));

      const db = api.store.database as Kysely<TriggerTables>;
      /** Makes all schedules due now. */
      const makeDue = async (): Promise<void> => {
        const nowMs = Date.now();
        const due = { due_ms: nowMs, fire_ms: nowMs };
        await db.updateTable('triggers').set(due).where('workflow_id', 'in', schedules).execute();
      };
      const completedCount = async (workflowId: string): Promise<number> => {
        const { runs } = await api.engine.listRuns({ workflowId });
        return runs.every(({ status }) => status === 'completed') ? runs.length : -1;
      };
      const countRuns = () => Promise.all([...schedules, webhookWorkflowId].map(completedCount));

      await makeDue();
      const { data } = await api.call<{ webhooks: { url: string }[] }>(
        'GET',
        `/api/v2/workflows/${webhookWorkflowId}/deployment`,
      );
      const path = new URL(data.webhooks[0]?.url ?? '').pathname;
      const headers = { 'Content-Type': 'application/json' };
      const deliveries = ['a', 'b', 'a', 'b'].map(async (id) => {
        const response = await fetch(base + path, { method: 'POST', headers, body: JSON.stringify({ id }) });
        return ((await response.json()) as { runId: string }).runId;
      });
      const [first, second, ...repeats] = await Promise.all(deliveries);
      expect(repeats).toEqual([first, second]);
      await expect.poll(countRuns, POLL).toEqual([1, 1, 1, 2]);

      serve.child.kill('SIGKILL');
      await serve.ended;
      await makeDue();
      await expect.poll(countRuns, POLL).toEqual([2, 2, 2, 2]);
      const fires = await db.selectFrom('trigger_fires').select('run_id').execute();
      expect(new Set(fires.map(({ run_id: runId }) => runId)).size).toBe(6);
      worker.child.kill('SIGTERM');
      expect(await worker.ended).toMatchObject({ exit: 0 });
    },
  );
});

if (!isFull) reportSkipped('heddle worker --triggers together with heddle serve --postgres');
