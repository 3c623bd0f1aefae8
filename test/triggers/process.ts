// A process that fires triggers and can be killed at a step: `node process.ts OPTIONS`, where OPTIONS is ProcessOptions
// as JSON. It reads commands and prints responses, one JSON value per line.
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { createApi } from '@heddle/api';
import { triggerTypes } from '@heddle/blocks/triggers';
import { createEngine } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import {
  keyAuthenticator,
  parseKeys,
  openServiceStore,
  Sealer,
  serviceAreas,
  servicePorts,
  triggerWorkerAreas,
} from '@heddle/service';
import type { ServiceStore } from '@heddle/service';
import { storedCredentials } from '@heddle/service/credentials';
import type { Kysely, KyselyPlugin, QueryId } from 'kysely';
import type { FeedDb } from '../../packages/service/src/triggers/feeds/store.ts';
import type { TriggerTables } from '../../packages/service/src/triggers/tables.ts';
import type { WebhookTables } from '../../packages/service/src/triggers/webhooks/tables.ts';
import type { Command, ProcessOptions, TriggeredRun } from './trigger-process.ts';

const options = JSON.parse(process.argv[2] ?? '') as ProcessOptions;
const SECRET = 'x'.repeat(32);
const callbacks = new Set<() => void>();
let { nowMs } = options;
/** The number of steps until the process kills itself. */
let stepsLeft = Infinity;

function countStep(): void {
  stepsLeft -= 1;
  if (stepsLeft === 0) process.kill(process.pid, 'SIGKILL');
}

const TRIGGER_TABLE_PATTERN =
  /"(triggers|trigger_fires|claims|flow_runs|flow_events|flow_groups|feed_items|feed_cursors)"/;
const EVENT_TABLE_PATTERN = /"(service_events|event_cooldowns|flow_runs|flow_events|flow_groups)"/;
const HOOK_TABLE_PATTERN = /"(provider_hooks)"/;
const COUNTED_TABLE_PATTERN = options.webhookRegistrations
  ? HOOK_TABLE_PATTERN
  : options.countsEvents
    ? EVENT_TABLE_PATTERN
    : TRIGGER_TABLE_PATTERN;
/** Statements on webhook registrations. */
const hookStatements = new WeakSet<QueryId>();

/** Counts as steps the statements on tables of triggers and queued runs, of events, or of webhook registrations. */
const stepCounter: KyselyPlugin = {
  transformQuery({ node, queryId }) {
    // Reads of events and webhooks are not counted, because polls repeat them.
    const isPoll = (options.countsEvents || options.webhookRegistrations) && node.kind === 'SelectQueryNode';
    if (isPoll || !COUNTED_TABLE_PATTERN.test(JSON.stringify(node))) return node;
    countStep();
    if (options.webhookRegistrations) hookStatements.add(queryId);
    return node;
  },
  transformResult({ result, queryId }) {
    if (options.countsResults || hookStatements.has(queryId)) countStep();
    return Promise.resolve(result);
  },
};

async function openEngine({ definitions: { resolveChild, tenant } }: ServiceStore): Promise<Engine> {
  const { engine: engineOptions, temporal: temporalOptions } = options;
  const commonOptions = { resolveChild, tenant, triggers: triggerTypes, ...engineOptions };
  if (!temporalOptions) return createEngine(commonOptions);
  const { temporal } = await import('@heddle/temporal');
  return createEngine({ ...commonOptions, runtime: temporal(temporalOptions) });
}

/** Returns an engine that counts a step before and after each start of a run. */
function createCountingEngine(engine: Engine): Engine {
  const start: Engine['start'] = async (...args) => {
    countStep();
    const run = await engine.start(...args);
    countStep();
    return run;
  };
  return new Proxy(engine, {
    get: (target, name) => {
      if (name === 'start') return start;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

const { data, postgres } = options.store;
const store = await openServiceStore(
  postgres === undefined ? { data: data as string } : { postgres: { url: postgres }, secret: SECRET },
);
const engine = await openEngine(store);
const countingDatabase = store.database.withPlugin(stepCounter);
const db = store.database as Kysely<TriggerTables>;
const webhookDb = store.database as Kysely<WebhookTables>;
const sealer = new Sealer(parseKeys(Buffer.alloc(32, 7).toString('base64')));
const triggerOptions = {
  triggers: triggerTypes,
  feeds: {
    egress: { allowPrivate: true, ports: 'any' as const },
    ...(options.webhookRegistrations && { credentials: storedCredentials(store.database, sealer) }),
  },
};
const api = await createApi({
  engine: createCountingEngine(engine),
  database: { ...store, database: countingDatabase, migrate: (...args) => store.migrate(...args) },
  authenticator: keyAuthenticator(store.keys),
  ports: servicePorts(store),
  areas: options.isWorker
    ? triggerWorkerAreas(triggerOptions)
    : serviceAreas({
        store,
        ...triggerOptions,
        ...(options.webhookRegistrations && {
          sealer,
          webhookRegistrations: options.webhookRegistrations,
        }),
      }),
  now: () => nowMs,
  repeat(ms, callback) {
    callbacks.add(callback);
    const timer = setInterval(callback, Math.min(ms, 500));
    return () => {
      callbacks.delete(callback);
      clearInterval(timer);
    };
  },
  onError: (error) => process.stderr.write(`${String(error)}\n`),
});

async function callApi<Data>(
  key: string,
  [method, path, body]: readonly [string, string, unknown?],
): Promise<Data> {
  const response = await api.fetch(
    new Request(`http://heddle.test/api/v2${path}`, {
      method,
      headers: { 'X-API-Key': key, ...(body !== undefined && { 'Content-Type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
  const json = (await response.json()) as { data: Data };
  if (!response.ok) throw new Error(JSON.stringify(json));
  return json.data;
}

/** Returns the runs that triggers have started, with their status. */
async function listTriggeredRuns(): Promise<TriggeredRun[]> {
  const rows = await db.selectFrom('trigger_fires').selectAll().orderBy('due_ms').execute();
  const triggeredRunPromises = rows.map(
    async ({ workflow_id: workflowId, due_ms: due, run_id: runId, version }) => {
      const run = await engine.getRun(runId).catch(() => undefined);
      return { workflowId, dueMs: Number(due), version, status: run?.status ?? 'unknown' };
    },
  );
  return Promise.all(triggeredRunPromises);
}

/** Sends a delivery to a webhook. */
async function deliver({
  path = '',
  deliveryId = '',
  killStep = Infinity,
  deliveryRequest,
}: Command): Promise<unknown> {
  stepsLeft = killStep;
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': deliveryId };
  const request = deliveryRequest ?? { headers, body: JSON.stringify({ deliveryId }) };
  const response = await api.fetch(new Request(`http://heddle.test${path}`, { method: 'POST', ...request }));
  return { status: response.status, body: await response.json() };
}

/** Returns the accepted deliveries with the status of their runs. */
async function listDeliveries(): Promise<{ deliveryId: string | null; runId: string; status: string }[]> {
  const rows = await webhookDb.selectFrom('webhook_deliveries').selectAll().orderBy('delivery_id').execute();
  const deliveryPromises = rows.map(async ({ delivery_id: deliveryId, run_id: runId }) => {
    const run = await engine.getRun(runId).catch(() => undefined);
    return { deliveryId, runId, status: run?.status ?? 'unknown' };
  });
  return Promise.all(deliveryPromises);
}

/** Returns the items that have started runs, with the status of the runs. */
async function listItems(): Promise<{ runId: string; status: string; title: unknown }[]> {
  const feedDb = store.database as FeedDb;
  const rows = await feedDb
    .selectFrom('feed_items')
    .select('run_id')
    .where('run_id', 'is not', null)
    .execute();
  const itemPromises = rows.map(async ({ run_id: runId }) => {
    const run = await engine.getRun(runId ?? '').catch(() => undefined);
    const [firstLog] = await engine.getLogs(runId ?? '').catch(() => []);
    const { title = null } = (firstLog?.output ?? {}) as { title?: unknown };
    return { runId: runId ?? '', status: run?.status ?? 'unknown', title };
  });
  return Promise.all(itemPromises);
}

/** Returns the number of runs of a workflow in the engine. */
async function countRuns(workflowId: string): Promise<number> {
  let count = 0;
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof engine.listRuns>> = await engine.listRuns({
      workflowId,
      ...(cursor !== null && { cursor }),
    });
    count += page.runs.length;
    cursor = page.nextCursor;
  } while (cursor !== null);
  return count;
}

const COMMAND_HANDLERS: { readonly [name in Command['call']]: (command: Command) => Promise<unknown> } = {
  async createWorkspace() {
    const userId = await store.workspaces.createUser({ email: `${randomUUID()}@heddle.test`, name: 'Ada' });
    const workspaceId = await store.workspaces.createWorkspace('Looms', userId);
    const { key } = await store.keys.create({ userId }, 'test');
    return { workspaceId, key };
  },
  request: ({ key = '', request = ['GET', '/meta'] }) => callApi(key, request),
  tick({ nowMs: newMs = nowMs, killStep = Infinity, keepsKillStep }) {
    nowMs = newMs;
    if (!keepsKillStep) stepsLeft = killStep;
    for (const callback of callbacks) callback();
    return Promise.resolve();
  },
  listTriggeredRuns,
  countRuns: ({ workflowId = '' }) => countRuns(workflowId),
  deliver,
  listDeliveries,
  listItems,
  stop: () => Promise.resolve(process.kill(process.pid, 'SIGKILL')),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const command = JSON.parse(line) as Command;
  void COMMAND_HANDLERS[command.call](command).then(
    (value) => process.stdout.write(`${JSON.stringify({ id: command.id, value })}\n`),
    (error: unknown) => process.stdout.write(`${JSON.stringify({ id: command.id, error: String(error) })}\n`),
  );
});
process.stdout.write(`${JSON.stringify({ ready: true })}\n`);
