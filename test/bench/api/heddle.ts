import type { Json } from '@heddle/core';
import { createApi, openApiStore } from '@heddle/api';
import { createEngine } from '@heddle/engine';
import type { EngineOptions } from '@heddle/engine';
import { draftOf } from '../../support/draft.ts';
import { BLOCKS, STEP, WAIT } from './blocks.ts';
import type { Endpoint, Contender } from './contender.ts';

/** Streams at once, with room: the default is made for servers that do other things too. */
const CAPACITY = 5000;

/** Heddle's interface as `heddle serve` has it, with a key of a person and two live workflows. */
export async function open(folder: string | undefined): Promise<Contender> {
  const data = folder === undefined ? {} : { data: folder };
  const store = await openApiStore(data);
  const { workflows, workspaces, keys } = store;
  const resolveChild: EngineOptions['resolveChild'] = (caller, reference) =>
    workflows.resolveChild(caller, reference);
  const engine = await createEngine({ ...data, blocks: BLOCKS, resolveChild });
  const api = await createApi({ engine, store, capacity: CAPACITY });
  const userId = await workspaces.createUser({ email: 'ada@example.com', name: 'Ada' });
  const workspaceId = await workspaces.createWorkspace('Looms', userId);
  const { key } = await keys.create({ userId }, 'bench');
  const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };

  async function ask(method: string, path: string, body?: object): Promise<{ id: string }> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await api.fetch(new Request(`http://bench${path}`, { method, headers, ...sent }));
    const { data: told, error } = (await answer.json()) as { data: { id: string }; error?: unknown };
    if (!answer.ok) throw new Error(`${method} ${path}: ${JSON.stringify(error)}`);
    return told;
  }

  async function deployed(name: string, exported: Json): Promise<Endpoint> {
    const { id } = await ask('POST', '/api/v2/workflows', { workspaceId, name });
    await ask('PUT', `/api/v2/workflows/${id}/state`, draftOf(exported));
    await ask('POST', `/api/v2/workflows/${id}/deploy`);
    return { path: `/api/v2/workflows/${id}/execute`, headers };
  }

  return {
    fetch: api.fetch,
    run: await deployed('Step', STEP),
    wait: await deployed('Wait', WAIT),
    async close() {
      await api.close();
      await engine.close({ graceMs: 0 });
      await store.close();
    },
  };
}
