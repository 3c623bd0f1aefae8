import { createApi, openApiStore } from '@heddle/api';
import type { Api, ApiOptions, ApiStore, ApiStoreOptions } from '@heddle/api';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import type { Json } from '@heddle/core';
import { afterAll } from 'vitest';
import { draftOf } from './draft.ts';

export { draftOf };

/** An answer with its JSON read; `data` is what the test takes it to be. */
export interface Answer<Data> {
  status: number;
  headers: Headers;
  body: unknown;
  data: Data;
}

export interface CallOptions {
  /** Null: no credential. */
  key?: string | null;
  body?: unknown;
  /** The text of the body as it is. */
  raw?: string;
  headers?: { [name: string]: string };
  signal?: AbortSignal;
}

export interface TestApi {
  api: Api;
  engine: Engine;
  store: ApiStore;
  /** A person who is admin of the workspace, and a key of theirs. */
  userId: string;
  workspaceId: string;
  key: string;
  call<Data = unknown>(method: string, path: string, options?: CallOptions): Promise<Answer<Data>>;
  fetch(method: string, path: string, options?: CallOptions): Promise<Response>;
  /** The id of a deployed workflow with this graph. */
  deployed(exported: Json): Promise<string>;
  /** The id of a workflow with this draft, which is not deployed. */
  drafted(exported: Json): Promise<string>;
  /** What reached no caller. */
  faults: unknown[];
}

export interface TestApiOptions extends Partial<ApiOptions> {
  storeOptions?: ApiStoreOptions;
  engineOptions?: EngineOptions;
}

export const ORIGIN = 'http://heddle.test';

/** An API over an engine and a store in memory, closed after the file's tests. */
export async function testApi(options: TestApiOptions = {}): Promise<TestApi> {
  const { storeOptions, engineOptions, ...rest } = options;
  const engine = options.engine ?? (await createEngine(engineOptions));
  const store = options.store ?? (await openApiStore(storeOptions));
  const faults: unknown[] = [];
  const api = await createApi({ engine, store, onError: (error) => faults.push(error), ...rest });
  afterAll(async () => {
    await api.close();
    await engine.close({ graceMs: 0 });
    await store.close();
  });
  const userId = await store.workspaces.createUser({
    email: `${crypto.randomUUID()}@heddle.test`,
    name: 'Ada',
  });
  const workspaceId = await store.workspaces.createWorkspace('Looms', userId);
  const { key } = await store.keys.create({ userId }, 'test');
  const fetch = (method: string, path: string, call: CallOptions = {}): Promise<Response> =>
    api.fetch(requestOf(method, path, { key, ...call }));
  const call = async <Data>(method: string, path: string, given?: CallOptions): Promise<Answer<Data>> => {
    const response = await fetch(method, path, given);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    const body: unknown = text === '' ? undefined : isJson ? JSON.parse(text) : text;
    return { status: response.status, headers: response.headers, body, data: (body as { data: Data })?.data };
  };
  const drafted = async (exported: Json): Promise<string> => {
    const name = `Workflow ${crypto.randomUUID()}`;
    const made = await call<{ id: string }>('POST', '/api/v2/workflows', { body: { workspaceId, name } });
    const { id } = made.data;
    const put = await call('PUT', `/api/v2/workflows/${id}/state`, { body: draftOf(exported) });
    if (put.status !== 200) throw new Error(JSON.stringify(put.body));
    return id;
  };
  const deployed = async (exported: Json): Promise<string> => {
    const id = await drafted(exported);
    const answer = await call('POST', `/api/v2/workflows/${id}/deploy`);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
    return id;
  };
  return { api, engine, store, userId, workspaceId, key, call, fetch, drafted, deployed, faults };
}

/** What an error says, in the envelope of either interface. */
export function errorIn(body: unknown): { code?: string; message: string; details?: { code?: string } } {
  const { error, details } = body as { error: unknown; details?: { code?: string } };
  if (typeof error !== 'string') return error as ReturnType<typeof errorIn>;
  return { message: error, ...(details && { details }) };
}

function requestOf(method: string, path: string, options: CallOptions): Request {
  const { key, body, raw, headers = {}, signal } = options;
  const text = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  return new Request(ORIGIN + path, {
    method,
    headers: {
      ...(key != null && { 'X-API-Key': key }),
      ...(text !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(text !== undefined && { body: text }),
    ...(signal && { signal }),
  });
}
