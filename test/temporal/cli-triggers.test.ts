import { join } from 'node:path';
import { temporal } from '@heddle/temporal';
import type { Kysely } from 'kysely';
import { expect, it } from 'vitest';
import { createTestApi } from '../support/api.ts';
import type { TriggerTables } from '../../packages/service/src/triggers/tables.ts';
import { runHeddle } from '../support/heddle.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { isFullRun, reportSkipped } from '../support/scale.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createTriggerWorkflow } from '../support/trigger-workflow.ts';
import { startNewsFeed } from '../triggers/feeds/setup.ts';
import { TEMPORAL_RUNTIME_ARGS, createProject } from './cli.ts';

const ORIGIN = 'https://answers.heddle.test';
const POLL_OPTIONS = { timeout: 60_000, interval: 200 };

it('heddle worker refuses limits without triggers', async () => {
  const { exitCode, stderr } = await runHeddle(['worker', '--limits', 'limits.json']);
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('Add --triggers.')]);
});

describeTemporal('heddle worker --triggers', (server) => {
  it('starts the runs of a feed once, and gives their pauses resume URLs', { timeout: 120_000 }, async () => {
    const project = createProject(server, { blocks: {}, edges: [] });
    const data = join(project.cwd, '.heddle');
    const { address, namespace } = server;
    const runtime = temporal({ address, namespace, taskQueue: project.queue, data, worker: false });
    // This API deploys workflows; its triggers are inactive.
    const api = await createTestApi({
      ...{ storeOptions: { data }, engineOptions: { runtime } },
      repeat: () => () => undefined,
    });
    const news = await startNewsFeed();
    news.items.push({ id: 'second' }, { id: 'first' });
    const askBlock = { type: 'human_in_the_loop', subBlocks: {} };
    const fields = { feedUrl: news.url, pollMinutes: 1, backfill: 2 };
    const id = await api.deploy(createTriggerWorkflow(fields, { type: 'rss', lastBlock: askBlock }));
    const allowHostArgs = ['--allow-host', new URL(news.url).host];
    const workers = [1, 2].map(() =>
      project.start(['worker', '--json', '--triggers', '--origin', ORIGIN, ...allowHostArgs]),
    );
    for (const worker of workers) {
      const readyMessage = JSON.parse(await worker.readFirstLine()) as object;
      expect(readyMessage).toMatchObject({ roles: ['engine', 'effects', 'segments', 'triggers'] });
    }

    const listPausedRuns = async () => (await api.engine.listRuns({ status: ['paused'] })).runs;
    await expect.poll(async () => (await listPausedRuns()).length, POLL_OPTIONS).toBe(2);
    for (const { runId } of await listPausedRuns()) {
      const [pause] = (await api.engine.getRun(runId)).pauses;
      const url = `${ORIGIN}/resume/${id}/${runId}/${pause?.token}`;
      expect(pause?.output).toMatchObject({ url });
    }
    const { runs } = await api.engine.listRuns({});
    expect(runs).toHaveLength(2);
    for (const worker of workers) worker.child.kill('SIGTERM');
    for (const worker of workers) expect(await worker.result).toMatchObject({ exitCode: 0 });
  });

  it.skipIf(!hasPostgres || !isFullRun)(
    'starts each run of a schedule and a webhook once, while heddle serve --postgres runs and after it is killed',
    async () => {
      const { cwd, queue, start } = createProject(server, { blocks: {}, edges: [] });
      const postgresUrl = await createPostgresDatabase();
      const env = { HEDDLE_API_SECRET: 'a secret of at least thirty-two characters' };
      const commonOptions = { address: server.address, namespace: server.namespace, taskQueue: queue };
      const runtime = temporal({ ...commonOptions, postgres: postgresUrl, worker: false });
      // This API deploys workflows; its triggers are inactive.
      const api = await createTestApi({
        storeOptions: { postgres: { url: postgresUrl }, secret: env.HEDDLE_API_SECRET },
        ...{ engineOptions: { runtime }, repeat: () => () => undefined },
      });
      const storeArgs = ['--postgres', postgresUrl];
      const serveProcess = start(['serve', '--port', '0', '--json', ...TEMPORAL_RUNTIME_ARGS, ...storeArgs], {
        cwd,
        env,
      });
      const { url: baseUrl } = JSON.parse(await serveProcess.readFirstLine()) as { url: string };
      const worker = start(['worker', '--json', '--triggers', ...storeArgs], { cwd, env });
      await worker.readFirstLine();
      const yearlyWorkflow = createTriggerWorkflow({ scheduleType: 'cron', cronExpression: '0 0 1 1 *' });
      const scheduledWorkflowIds = [
        await api.deploy(yearlyWorkflow),
        await api.deploy(yearlyWorkflow),
        await api.deploy(yearlyWorkflow),
      ];
      const fields = { idempotencyField: 'id' };
      const webhookWorkflowId = await api.deploy(createTriggerWorkflow(fields, { type: 'generic_webhook' }));

      const db = api.store.database as Kysely<TriggerTables>;
      /** Makes all schedules due now. */
      const makeSchedulesDue = async (): Promise<void> => {
        const nowMs = Date.now();
        const dueColumns = { due_ms: nowMs, fire_ms: nowMs };
        await db
          .updateTable('triggers')
          .set(dueColumns)
          .where('workflow_id', 'in', scheduledWorkflowIds)
          .execute();
      };
      const countCompletedRuns = async (workflowId: string): Promise<number> => {
        const { runs } = await api.engine.listRuns({ workflowId });
        return runs.every(({ status }) => status === 'completed') ? runs.length : -1;
      };
      const countRuns = () =>
        Promise.all([...scheduledWorkflowIds, webhookWorkflowId].map(countCompletedRuns));

      await makeSchedulesDue();
      const { data } = await api.call<{ webhooks: { url: string }[] }>(
        'GET',
        `/api/v2/workflows/${webhookWorkflowId}/deployment`,
      );
      const path = new URL(data.webhooks[0]?.url ?? '').pathname;
      const headers = { 'Content-Type': 'application/json' };
      const runIdPromises = ['a', 'b', 'a', 'b'].map(async (id) => {
        const response = await fetch(baseUrl + path, {
          method: 'POST',
          headers,
          body: JSON.stringify({ id }),
        });
        return ((await response.json()) as { runId: string }).runId;
      });
      const [firstRunId, secondRunId, ...repeatedRunIds] = await Promise.all(runIdPromises);
      expect(repeatedRunIds).toEqual([firstRunId, secondRunId]);
      await expect.poll(countRuns, POLL_OPTIONS).toEqual([1, 1, 1, 2]);

      serveProcess.child.kill('SIGKILL');
      await serveProcess.result;
      await makeSchedulesDue();
      await expect.poll(countRuns, POLL_OPTIONS).toEqual([2, 2, 2, 2]);
      const fires = await db.selectFrom('trigger_fires').select('run_id').execute();
      expect(new Set(fires.map(({ run_id: runId }) => runId)).size).toBe(6);
      worker.child.kill('SIGTERM');
      expect(await worker.result).toMatchObject({ exitCode: 0 });
    },
  );
});

if (!isFullRun) reportSkipped('heddle worker --triggers together with heddle serve --postgres');
