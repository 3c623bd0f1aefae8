import { randomUUID } from 'node:crypto';
import { openServiceStore } from '@heddle/service';
import type { Kysely } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { TriggerTables } from '../../packages/service/src/triggers/tables.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { sample, pickByScale } from '../support/scale.ts';
import { deployWebhookWorkflow } from './deployed-webhook.ts';
import type { DeployedWebhook } from './deployed-webhook.ts';
import { timeAtMinute, startProcess } from './trigger-process.ts';
import type { Backend, TriggerProcess } from './trigger-process.ts';

/** The number of runs that a process starts at the same time. */
const CONCURRENT_STARTS = 16;
const BURST_SIZE = pickByScale(100, 1000);
const POLL_OPTIONS = { timeout: pickByScale(60_000, 600_000), interval: 200 };

/** Queues runs of a workflow, like a process that died before it started them. */
async function queueRuns(
  db: Kysely<TriggerTables>,
  { workflowId, ageMs }: DeployedWebhook & { ageMs: number },
  runIds: readonly string[],
): Promise<void> {
  const trigger = await db
    .selectFrom('triggers')
    .selectAll()
    .where('workflow_id', '=', workflowId)
    .executeTakeFirstOrThrow();
  const { workspace_id, block_id: start, engine_version: version } = trigger;
  const waiting = JSON.stringify({ input: {}, version, start, ownsFiles: true });
  const rows = runIds.map((runId, index) => ({
    ...{
      engine_id: runId,
      run_id: runId,
      workflow_id: workflowId,
      workspace_id,
      waiting,
      failure: null,
      held: null,
    },
    ...({ trigger: 'webhook', mode: 'async' } as const),
    created_at: new Date(timeAtMinute(0) - ageMs + index).toISOString(),
  }));
  for (let offset = 0; offset < rows.length; offset += 100)
    await db
      .insertInto('claims')
      .values(rows.slice(offset, offset + 100))
      .execute();
}

/** Waits until `count` runs of a workflow have started. Returns their start times, earliest first. */
async function waitForStartTimes(
  process: TriggerProcess,
  { key, workspaceId }: DeployedWebhook,
  count: number,
): Promise<number[]> {
  const path = `/logs?workspaceId=${workspaceId}&sortOrder=asc&limit=1000`;
  const readRuns = () => process.call<{ startedAt: string }[]>('request', { key, request: ['GET', path] });
  await expect.poll(async () => (await readRuns()).length, POLL_OPTIONS).toBe(count);
  return (await readRuns()).map(({ startedAt }) => Date.parse(startedAt));
}

describe('a queued run', { timeout: pickByScale(180_000, 1_800_000) }, () => {
  const cases = [
    { name: 'in one process', processCount: 1 },
    ...(hasPostgres ? [{ name: 'in two processes on PostgreSQL', processCount: 2 }] : []),
  ];

  it.each(sample(cases, 1, 'processes that start queued runs'))(
    'does not wait for all queued runs of another workspace, $name',
    async ({ processCount }) => {
      const backend: Backend = await (async () => {
        const data = createDataFolder();
        if (processCount === 1) return { store: { data }, engine: { data } };
        const postgres = await createPostgresDatabase();
        return { store: { postgres }, engine: { postgres: { url: postgres, leaseMs: 5000 } } };
      })();
      const firstProcess = await startProcess({ ...backend, nowMs: timeAtMinute(0) });
      const [busyHook, otherHook] = [
        await deployWebhookWorkflow(firstProcess),
        await deployWebhookWorkflow(firstProcess),
      ];
      await firstProcess.call('stop').catch(() => undefined);
      const { data, postgres } = backend.store;
      const store = await openServiceStore(
        postgres === undefined
          ? { data: data as string }
          : { postgres: { url: postgres }, secret: 'x'.repeat(32) },
      );
      const burstRunIds = Array.from({ length: BURST_SIZE }, () => randomUUID());
      const otherRunId = randomUUID();
      await queueRuns(store.database as Kysely<TriggerTables>, { ...busyHook, ageMs: 60_000 }, burstRunIds);
      await queueRuns(store.database as Kysely<TriggerTables>, { ...otherHook, ageMs: 0 }, [otherRunId]);
      await store.close();

      const processes = await Promise.all(
        Array.from({ length: processCount }, () => startProcess({ ...backend, nowMs: timeAtMinute(1) })),
      );
      const [reader] = processes as [TriggerProcess];
      const [startMs = 0] = await waitForStartTimes(reader, otherHook, 1);
      const burstStartTimes = await waitForStartTimes(reader, busyHook, BURST_SIZE);
      // Each process begins 16 starts before it alternates between workspaces.
      const earlierStartTimes = burstStartTimes.filter((ms) => ms < startMs);
      expect(earlierStartTimes.length).toBeLessThan(CONCURRENT_STARTS * 2 * processCount);
      const countRuns = () => reader.call<number>('countRuns', { workflowId: otherHook.workflowId });
      expect(await countRuns()).toBe(1);
    },
  );
});
