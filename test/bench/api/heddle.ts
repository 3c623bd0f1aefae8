import { randomUUID } from 'node:crypto';
import { triggerTypes } from '@heddle/blocks/triggers';
import type { Json } from '@heddle/core';
import { sql } from 'kysely';
import { createApi } from '@heddle/api';
import { keyAuthenticator, openServiceStore, serviceAreas, servicePorts } from '@heddle/service';
import { createEngine } from '@heddle/engine';
import { draftOf } from '../../support/draft.ts';
import { serverOf } from '../../support/postgres-server.ts';
import { requireTool } from '../../tools/fetch.ts';
import { BLOCKS, HOOK, STEP, WAIT } from './blocks.ts';
import type { Endpoint, Contender, Storage } from './contender.ts';
import { fillLog, fillWorkflows } from './fill.ts';

/** Limit of concurrent streams. The default is for servers that also do other work. */
const CAPACITY = 5000;

/** The rate of a webhook. The default is for one sender. */
const UNLIMITED = { capacity: 1e9, perMinute: 1e9 };

/** Ends the process, because its figures would be wrong. */
function fail(error: unknown): never {
  throw error;
}

function inFolder(folder: string | undefined) {
  const data = folder === undefined ? {} : { data: folder };
  return { service: data, engine: data };
}

/** Creates two new schemas on the PostgreSQL server of this benchmark, which stops with it. */
async function onPostgres() {
  const tool = requireTool('postgres');
  if (!tool) throw new Error('The rows of PostgreSQL need a PostgreSQL server, but none is available.');
  const url = (await serverOf(tool)).url('postgres');
  const [service, engine] = [randomUUID(), randomUUID()].map((id) => `s${id.replaceAll('-', '')}`) as [
    string,
    string,
  ];
  return {
    service: { postgres: { url, schema: service }, secret: randomUUID() },
    engine: { postgres: { url, schema: engine } },
  };
}

/** Opens Heddle's interface as in `heddle serve`, with a personal key and two live workflows. */
export async function open(folder: string | undefined, storage: Storage): Promise<Contender> {
  const stored = storage === 'filled postgres' ? await onPostgres() : inFolder(folder);
  const store = await openServiceStore(stored.service);
  const { workspaces, keys } = store;
  const { resolveChild, tenant } = store.definitions;
  const engine = await createEngine({
    ...stored.engine,
    ...{ blocks: BLOCKS, triggers: triggerTypes, resolveChild, tenant },
  });
  const api = await createApi({
    engine,
    database: store,
    authenticator: keyAuthenticator(keys),
    ports: servicePorts(store, { limits: { capacity: CAPACITY } }),
    areas: serviceAreas({ store, triggers: triggerTypes, webhooks: { rate: UNLIMITED } }),
    onError: fail,
  });
  const userId = await workspaces.createUser({ email: 'ada@example.com', name: 'Ada' });
  const workspaceId = await workspaces.createWorkspace('Looms', userId);
  const { key } = await keys.create({ userId }, 'bench');
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };

  async function ask<Data = { id: string }>(method: string, path: string, body?: object): Promise<Data> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await api.fetch(new Request(`http://bench${path}`, { method, headers, ...sent }));
    const { data: run, error } = (await answer.json()) as { data: Data; error?: unknown };
    if (!answer.ok) throw new Error(`${method} ${path}: ${JSON.stringify(error)}`);
    return run;
  }

  async function deployed(name: string, exported: Json): Promise<Endpoint> {
    const { id } = await ask('POST', '/api/v2/workflows', { workspaceId, name });
    await ask('PUT', `/api/v2/workflows/${id}/state`, draftOf(exported));
    await ask('POST', `/api/v2/workflows/${id}/deploy`);
    return { path: `/api/v2/workflows/${id}/execute`, headers };
  }

  /** Runs a workflow once and fills the lists. */
  async function filled(): Promise<Pick<Contender, 'reads'>> {
    const answer = await api.fetch(
      new Request(`http://bench${run.path}`, { method: 'POST', headers, body: '{"input":{}}' }),
    );
    const { data: ran } = (await answer.json()) as { data: { runId: string } };
    const workflowId = run.path.split('/')[4] ?? '';
    await fillWorkflows(store.database, workspaceId);
    await fillLog(store.database, { workspaceId, workflowId });
    // PostgreSQL would do this automatically, but later.
    if (storage === 'filled postgres') await sql`vacuum analyze`.execute(store.database);
    const reads = {
      workflows: { path: `/api/v2/workflows?workspaceId=${workspaceId}&limit=50`, headers },
      workflow: { path: `/api/v2/workflows/${workflowId}`, headers },
      logs: { path: `/api/v2/logs?workspaceId=${workspaceId}&limit=50`, headers },
      log: { path: `/api/v2/logs/${ran.runId}`, headers },
      stats: { path: `/api/v2/logs/stats?workspaceId=${workspaceId}`, headers },
    };
    return { reads };
  }

  /** Deploys a webhook that starts the smallest run. Returns its path. */
  async function hooked(): Promise<Endpoint> {
    const { path } = await deployed('Hook', HOOK);
    const deployment = path.replace('/execute', '/deployment');
    const { webhooks } = await ask<{ webhooks: { url: string }[] }>('GET', deployment);
    const { pathname } = new URL(webhooks[0]?.url ?? '');
    return { path: pathname, headers: { 'Content-Type': 'application/json' } };
  }

  const run = await deployed('Step', STEP);
  return {
    fetch: api.fetch,
    run,
    wait: await deployed('Wait', WAIT),
    hook: await hooked(),
    ...(storage.startsWith('filled') && (await filled())),
    async close() {
      await api.close();
      await engine.close({ graceMs: 0 });
      await store.close();
    },
  };
}
