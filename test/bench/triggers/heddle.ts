import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createApi } from '@heddle/api';
import { triggerTypes } from '@heddle/blocks/triggers';
import { createEngine } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { keyAuthenticator, openServiceStore, serviceAreas, servicePorts } from '@heddle/service';
import type { ServiceStore } from '@heddle/service';
import { sql } from 'kysely';
import type { Contender, SelfMeasuringWorkload } from '../workload.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const START_TIME_MS = Date.UTC(2026, 0, 1);
/** Interval at which started runs are counted. */
const POLL_MS = 10;

/** Adds deployed workflows, each with an hourly schedule. The schedules are spread over the minutes of the hour. */
async function addScheduledWorkflows(
  { database: db, workspaces }: ServiceStore,
  engine: Engine,
  count: number,
): Promise<void> {
  const userId = await workspaces.createUser({ email: 'ada@heddle.test', name: 'Ada' });
  const workspaceId = await workspaces.createWorkspace('Looms', userId);
  await sql`with recursive numbers (n) as (select 0 union all select n + 1 from numbers where n + 1 < ${sql.lit(count)})
    insert into workflows (id, workspace_id, name, folder_path, position, state, active_version, public_api, created_at,
      updated_at)
    select 'w' || n, ${workspaceId}, 'Workflow ' || n, '/', n, '{}', 1, 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z'
    from numbers`.execute(db);
  const config = (minute: number): string =>
    JSON.stringify({
      ...{ times: { cron: `${minute} * * * *` }, timeZone: 'Europe/Berlin' },
      ...{ jitterMs: 0, missed: 'last', missedLimit: 10, overlap: 'allow' },
    });
  for (let minute = 0; minute < 60; minute += 1)
    await sql`with recursive numbers (n) as
        (select ${sql.lit(minute)} union all select n + 60 from numbers where n + 60 < ${sql.lit(count)})
      insert into triggers (id, workspace_id, workflow_id, block_id, name, type, config, version, engine_version, state, due_ms,
        fire_ms, attempts, failures, created_ms)
      select 't' || n, ${workspaceId}, 'w' || n, 'clock', 'Clock', 'schedule', ${config(minute)}, 1, 1, 'active',
        ${START_TIME_MS + HOUR_MS + minute * MINUTE_MS}, ${START_TIME_MS + HOUR_MS + minute * MINUTE_MS}, 0, 0, 0
      from numbers`.execute(db);
  const block = { type: 'schedule', name: 'Clock', enabled: true, subBlocks: {}, outputs: {} };
  for (let n = 0; n < count; n += 1)
    await engine.deploy({
      version: '1.0',
      workflow: { id: `w${n}`, name: `Workflow ${n}` },
      state: { blocks: { clock: { ...block, id: 'clock', position: { x: 0, y: 0 } } }, edges: [] },
    });
}

interface ScheduledService {
  /** Bytes of live memory before the first schedule fired. */
  initialMemoryBytes: number;
  /** Sets the clock of the service. */
  setNow(ms: number): void;
  /** Returns the number of runs that have been started. */
  countStartedRuns(): Promise<number>;
  close(): Promise<void>;
}

async function startService(count: number): Promise<ScheduledService> {
  const dataFolder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
  const store = await openServiceStore({ data: dataFolder });
  const { resolveChild, tenant } = store.definitions;
  const engine = await createEngine({ data: dataFolder, resolveChild, tenant });
  await addScheduledWorkflows(store, engine, count);
  const initialMemoryBytes = readLiveMemoryBytes();
  let nowMs = START_TIME_MS;
  const api = await createApi({
    ...{ engine, database: store, authenticator: keyAuthenticator(store.keys), ports: servicePorts(store) },
    areas: serviceAreas({ store, triggers: triggerTypes }),
    now: () => nowMs,
  });
  return {
    initialMemoryBytes,
    setNow: (ms) => (nowMs = ms),
    async countStartedRuns() {
      const { rows } = await sql<{
        count: number;
      }>`select count(*) as count from claims where waiting is null`.execute(store.database);
      return Number(rows[0]?.count);
    },
    async close() {
      await api.close();
      await engine.close({ graceMs: 0 });
      await store.close();
      rmSync(dataFolder, { recursive: true });
    },
  };
}

/** Measures the milliseconds from the start of a minute to the start of the last run that is due in it. */
async function createDelayWorkload(count: number): Promise<SelfMeasuringWorkload> {
  const service = await startService(count);
  let minute = 60;
  let startedRuns = 0;
  return {
    async sample() {
      const expectedRuns = startedRuns + Math.ceil((count - (minute % 60)) / 60);
      const startMs = performance.now();
      service.setNow(START_TIME_MS + minute * MINUTE_MS);
      await waitUntil(async () => (await service.countStartedRuns()) >= expectedRuns);
      const delayMs = performance.now() - startMs;
      minute += 1;
      startedRuns = expectedRuns;
      return delayMs;
    },
    close: () => service.close(),
  };
}

/** Measures the milliseconds from an instant at which all schedules are due to the start of the last run. */
async function createSimultaneousDelayWorkload(count: number): Promise<SelfMeasuringWorkload> {
  const service = await startService(count);
  return {
    async sample() {
      const startMs = performance.now();
      service.setNow(START_TIME_MS + 2 * HOUR_MS);
      await waitUntil(async () => (await service.countStartedRuns()) >= count);
      return performance.now() - startMs;
    },
    close: () => service.close(),
  };
}

/**
 * Measures the kilobytes of live memory for each schedule: the increase from before the first schedule fires until
 * after the runs of one minute.
 */
async function createMemoryWorkload(count: number): Promise<SelfMeasuringWorkload> {
  const service = await startService(count);
  return {
    async sample() {
      service.setNow(START_TIME_MS + HOUR_MS);
      await waitUntil(async () => (await service.countStartedRuns()) >= Math.ceil(count / 60));
      return (readLiveMemoryBytes() - service.initialMemoryBytes) / 1024 / count;
    },
    close: () => service.close(),
  };
}

function readLiveMemoryBytes(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((done) => setTimeout(done, POLL_MS));
}

/** Measures the CPU time in percent of a core while nothing is due. */
async function createIdleCpuWorkload(count: number): Promise<SelfMeasuringWorkload> {
  const service = await startService(count);
  return {
    async sample(sampleMs) {
      const [startMs, initialUsage] = [performance.now(), process.cpuUsage()];
      await new Promise((done) => setTimeout(done, sampleMs));
      const { user, system } = process.cpuUsage(initialUsage);
      return (user + system) / 10 / (performance.now() - startMs);
    },
    close: () => service.close(),
  };
}

export const heddle: Contender = {
  'schedules due': createDelayWorkload,
  'schedules due together': createSimultaneousDelayWorkload,
  'schedules idle': createIdleCpuWorkload,
  'schedules memory': createMemoryWorkload,
};
