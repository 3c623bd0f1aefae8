import { randomUUID } from 'node:crypto';
import { triggerTypes } from '@heddle/blocks/triggers';
import type { Json } from '@heddle/core';
import { sql } from 'kysely';
import { createApi } from '@heddle/api';
import { keyAuthenticator, openServiceStore, serviceAreas, servicePorts } from '@heddle/service';
import { createEngine } from '@heddle/engine';
import { draftOf } from '../../support/draft.ts';
import { getOrStartServer } from '../../support/postgres-server.ts';
import { resolveTool } from '../../tools/fetch.ts';
import { BLOCKS, WEBHOOK_WORKFLOW, STEP_WORKFLOW, WAIT_WORKFLOW } from './blocks.ts';
import type { Endpoint, Contender, Storage } from './contender.ts';
import { seedLog, seedWorkflows } from './seed.ts';

/** Limit on concurrent streams. The default limit is for servers that also do other work. */
const MAX_CONCURRENT_STREAMS = 5000;

/** The rate limit of webhooks. The default limit is for one sender. */
const UNLIMITED_RATE = { capacity: 1e9, perMinute: 1e9 };

/** Fails the measurement, because the metrics of a server with errors would be wrong. */
function fail(error: unknown): never {
  throw error;
}

function folderOptions(folder: string | undefined) {
  const dataOptions = folder === undefined ? {} : { data: folder };
  return { service: dataOptions, engine: dataOptions };
}

/** Returns options with two new schemas. The PostgreSQL server is that of this benchmark and stops with it. */
async function postgresOptions() {
  const tool = resolveTool('postgres');
  if (!tool) throw new Error('The rows of PostgreSQL need a PostgreSQL server, but none is available.');
  const url = (await getOrStartServer(tool)).url('postgres');
  const [serviceSchema, engineSchema] = [randomUUID(), randomUUID()].map(
    (id) => `s${id.replaceAll('-', '')}`,
  ) as [string, string];
  return {
    service: { postgres: { url, schema: serviceSchema }, secret: randomUUID() },
    engine: { postgres: { url, schema: engineSchema } },
  };
}

/** Opens Heddle's API as in `heddle serve`, with a personal key and three deployed workflows. */
export async function open(folder: string | undefined, storage: Storage): Promise<Contender> {
  const storeOptions = storage === 'seeded postgres' ? await postgresOptions() : folderOptions(folder);
  const store = await openServiceStore(storeOptions.service);
  const { workspaces, keys } = store;
  const { resolveChild, tenant } = store.definitions;
  const engine = await createEngine({
    ...storeOptions.engine,
    ...{ blocks: BLOCKS, triggers: triggerTypes, resolveChild, tenant },
  });
  const api = await createApi({
    engine,
    database: store,
    authenticator: keyAuthenticator(keys),
    ports: servicePorts(store, { limits: { capacity: MAX_CONCURRENT_STREAMS } }),
    areas: serviceAreas({ store, triggers: triggerTypes, webhooks: { rate: UNLIMITED_RATE } }),
    onError: fail,
  });
  const userId = await workspaces.createUser({ email: 'ada@example.com', name: 'Ada' });
  const workspaceId = await workspaces.createWorkspace('Looms', userId);
  const { key } = await keys.create({ userId }, 'bench');
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };

  async function call<Data = { id: string }>(method: string, path: string, body?: object): Promise<Data> {
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const response = await api.fetch(new Request(`http://bench${path}`, init));
    const { data, error } = (await response.json()) as { data: Data; error?: unknown };
    if (!response.ok) throw new Error(`${method} ${path}: ${JSON.stringify(error)}`);
    return data;
  }

  async function deploy(name: string, exportedWorkflow: Json): Promise<Endpoint> {
    const { id } = await call('POST', '/api/v2/workflows', { workspaceId, name });
    await call('PUT', `/api/v2/workflows/${id}/state`, draftOf(exportedWorkflow));
    await call('POST', `/api/v2/workflows/${id}/deploy`);
    return { path: `/api/v2/workflows/${id}/execute`, headers };
  }

  /** Runs a workflow once and seeds the lists. Returns the endpoints that read them. */
  async function seedLists(): Promise<Pick<Contender, 'reads'>> {
    const response = await api.fetch(
      new Request(`http://bench${run.path}`, { method: 'POST', headers, body: '{"input":{}}' }),
    );
    const { data: result } = (await response.json()) as { data: { runId: string } };
    const workflowId = run.path.split('/')[4] ?? '';
    await seedWorkflows(store.database, workspaceId);
    await seedLog(store.database, { workspaceId, workflowId });
    // PostgreSQL would do this automatically, but later.
    if (storage === 'seeded postgres') await sql`vacuum analyze`.execute(store.database);
    const reads = {
      workflows: { path: `/api/v2/workflows?workspaceId=${workspaceId}&limit=50`, headers },
      workflow: { path: `/api/v2/workflows/${workflowId}`, headers },
      logs: { path: `/api/v2/logs?workspaceId=${workspaceId}&limit=50`, headers },
      log: { path: `/api/v2/logs/${result.runId}`, headers },
      stats: { path: `/api/v2/logs/stats?workspaceId=${workspaceId}`, headers },
    };
    return { reads };
  }

  /** Deploys a webhook that starts the smallest run. Returns its endpoint. */
  async function deployWebhook(): Promise<Endpoint> {
    const { path } = await deploy('Hook', WEBHOOK_WORKFLOW);
    const deploymentPath = path.replace('/execute', '/deployment');
    const { webhooks } = await call<{ webhooks: { url: string }[] }>('GET', deploymentPath);
    const { pathname } = new URL(webhooks[0]?.url ?? '');
    return { path: pathname, headers: { 'Content-Type': 'application/json' } };
  }

  const run = await deploy('Step', STEP_WORKFLOW);
  return {
    fetch: api.fetch,
    run,
    wait: await deploy('Wait', WAIT_WORKFLOW),
    webhook: await deployWebhook(),
    ...(storage.startsWith('seeded') && (await seedLists())),
    async close() {
      await api.close();
      await engine.close({ graceMs: 0 });
      await store.close();
    },
  };
}
