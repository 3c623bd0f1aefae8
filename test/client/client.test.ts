import type { Json } from '@heddle/core';
import createClient from 'openapi-fetch';
import openapiTS, { astToString } from 'openapi-typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { draftOf } from '../support/api.ts';
import { ECHO, FILE, FILE_BASE64 } from '../support/api-files.ts';
import { APPROVAL, GREETING } from '../support/api-workflows.ts';
import { dataFolder } from '../support/data-folder.ts';
import { startServe } from '../support/heddle.ts';
import type { RunningServer } from '../support/heddle.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import type { paths } from './fixtures/api.d.ts';

const SECRETS = {
  HEDDLE_API_SECRET: 'a secret of at least thirty-two characters',
  HEDDLE_SECRET_KEYS: Buffer.alloc(32, 1).toString('base64'),
};
const POLL = { timeout: 60_000 };

let server: RunningServer;
let client: ReturnType<typeof createClient<paths>>;

/** Creates an empty store. Returns the command-line options for the store. */
type CreateStore = (whenDone: (stop: () => void) => void) => Promise<readonly string[]>;

/** Starts `heddle serve` for the tests of this suite. */
function startServerBeforeAll(createStore: CreateStore): void {
  const stops: (() => void)[] = [];
  const whenDone = (stop: () => void): void => void stops.unshift(stop);
  beforeAll(async () => {
    server = await startServe(await createStore(whenDone), { env: SECRETS, whenDone });
    client = createClient<paths>({ baseUrl: server.url, headers: { 'X-API-Key': server.key } });
  });
  afterAll(() => stops.forEach((stop) => stop()));
}

/** Returns the data of a response that is not a stream. */
function objectOf<T>(data: T | string | undefined): Exclude<T, string> {
  if (typeof data !== 'object')
    throw new Error(`The response is not a JSON object, but a value of the type ${typeof data}.`);
  return data as Exclude<T, string>;
}

/** Deploys a workflow. Returns its id. */
async function deploy(exported: Json, name: string): Promise<string> {
  const { workspaceId } = server;
  const created = await client.POST('/api/v2/workflows', { body: { workspaceId, name } });
  const workflowId = created.data!.data.id;
  const params = { path: { workflowId } };
  const body = draftOf(exported) as never;
  const put = await client.PUT('/api/v2/workflows/{workflowId}/state', { params, body });
  expect(put.data?.data).toMatchObject({ id: workflowId, dryRun: false });
  const deployment = await client.POST('/api/v2/workflows/{workflowId}/deploy', { params, body: {} });
  expect(deployment.data?.data).toMatchObject({ isDeployed: true, version: 1 });
  return workflowId;
}

/** Returns the exported workflow with `metadata` in its state, which exports of other tools contain. */
function withMetadata(exported: object): Record<string, unknown> {
  const { state, ...rest } = exported as { state: object };
  return { ...rest, state: { ...state, metadata: { name: 'Elsewhere' } } };
}

const STORES: readonly [name: string, isAvailable: boolean, createStore: CreateStore][] = [
  ['SQLite', true, async (whenDone) => ['--data', dataFolder(whenDone)]],
  ['PostgreSQL', hasPostgres, async () => ['--postgres', await postgresDatabase()]],
];

describe.each(STORES.filter(([, isAvailable]) => isAvailable))(
  'a client generated from /openapi.json of heddle serve on %s',
  (_, _isAvailable, createStore) => {
    startServerBeforeAll(createStore);

    // `npx vitest run --config test/vitest.config.ts test/client -u` updates the types.
    it('has the types of the current document', async () => {
      const document = await (await fetch(`${server.url}/openapi.json`)).json();
      const types = astToString(await openapiTS(JSON.stringify(document)));
      expect(types).toContain('"/api/v2/workflows/{workflowId}/execute"');
      await expect(types).toMatchFileSnapshot('fixtures/api.d.ts');
    });

    it('creates, deploys and runs a workflow, and reads its runs and versions', async () => {
      const workflowId = await deploy(GREETING, 'Greeting');
      const path = { workflowId };
      const execution = await client.POST('/api/v2/workflows/{workflowId}/execute', {
        params: { path },
        body: { input: { name: 'Ada' }, selectedOutputs: ['Reply.data.hello'] },
      });
      expect(execution.response.status).toBe(200);
      const result = objectOf(execution.data).data;
      if (!('status' in result)) throw new Error('The response to a synchronous execution has no status.');
      expect(result).toMatchObject({ status: 'completed', blockOutputs: { 'Reply.data.hello': 'Ada' } });
      const { runId } = result;
      const read = await client.GET('/api/v2/workflows/{workflowId}/runs/{runId}', {
        params: { path: { workflowId, runId }, query: { includeOutput: true } },
      });
      expect(read.data?.data).toMatchObject({ runId, output: { data: { hello: 'Ada' } } });
      const list = await client.GET('/api/v2/workflows/{workflowId}/runs', {
        params: { path, query: { status: 'completed', limit: 10 } },
      });
      expect(list.data?.data.map((run) => run.runId)).toEqual([runId]);
      expect(list.data?.nextCursor).toBeNull();
      const versions = await client.GET('/api/v2/workflows/{workflowId}/versions', { params: { path } });
      expect(versions.data?.data).toMatchObject([{ version: 1, isActive: true }]);
    });

    it('sends files, and lists and downloads the files of the output', async () => {
      const workflowId = await deploy(ECHO, 'Echo');
      const execution = await client.POST('/api/v2/workflows/{workflowId}/execute', {
        params: { path: { workflowId } },
        body: { input: { doc: [FILE] }, includeFileBase64: false },
      });
      const { runId } = objectOf(execution.data).data;
      const run = await client.GET('/api/v2/workflows/{workflowId}/runs/{runId}', {
        params: { path: { workflowId, runId }, query: { includeOutput: true, includeFileBase64: true } },
      });
      const [file] = run.data?.data.files ?? [];
      expect(file).toMatchObject({ name: 'abc.txt', base64: FILE_BASE64 });
      const path = { workflowId, runId, fileId: file?.id ?? '' };
      const fileRoute = '/api/v2/workflows/{workflowId}/runs/{runId}/files/{fileId}';
      const bytes = await client.GET(fileRoute, { params: { path }, parseAs: 'text' });
      expect(bytes.data).toBe('abc');
      const none = await client.GET(fileRoute, { params: { path: { ...path, fileId: 'none' } } });
      expect(none.error).toEqual({ error: { code: 'NOT_FOUND', message: 'File not found' } });
    });

    it('starts and resumes asynchronous runs', async () => {
      const workflowId = await deploy(APPROVAL, 'Approval');
      const accepted = await client.POST('/api/v2/workflows/{workflowId}/execute', {
        params: { path: { workflowId } },
        body: { async: true },
      });
      expect(accepted.response.status).toBe(202);
      const { runId } = objectOf(accepted.data).data;
      const params = { path: { workflowId, runId } };
      const readRun = () => client.GET('/api/v2/workflows/{workflowId}/runs/{runId}', { params });
      await expect.poll(async () => (await readRun()).data?.data.status, POLL).toBe('paused');
      const contextId = (await readRun()).data?.data.paused?.contextId ?? '';
      const resumed = await client.POST('/api/v2/workflows/{workflowId}/runs/{runId}/resume', {
        params,
        body: { contextId, input: { ok: true } },
      });
      expect([200, 202]).toContain(resumed.response.status);
      await expect.poll(async () => (await readRun()).data?.data.status, POLL).toBe('completed');
    });

    it('reads logs, and copies a workflow by export and import', async () => {
      const { workspaceId } = server;
      const workflowId = await deploy(GREETING, 'Moved');
      const params = { path: { workflowId } };
      const execution = await client.POST('/api/v2/workflows/{workflowId}/execute', {
        params,
        body: { input: { name: 'Ada' } },
      });
      const { runId } = objectOf(execution.data).data;
      const listLogs = () =>
        client.GET('/api/v2/logs', { params: { query: { workspaceId, workflowIds: workflowId } } });
      await expect
        .poll(async () => (await listLogs()).data?.data.map((log) => log.runId), POLL)
        .toEqual([runId]);
      const exported = await client.GET('/api/v2/workflows/{workflowId}/export', { params });
      const imported = await client.POST('/api/v2/workflows/import', {
        body: { workspaceId, workflow: withMetadata(exported.data!.data) },
      });
      expect(imported.data?.data).toMatchObject({ workspaceId });
      const state = await client.GET('/api/v2/workflows/{workflowId}/state', {
        params: { path: { workflowId: imported.data!.data.id } },
      });
      const keys = ['blocks', 'edges', 'loops', 'parallels', 'variables'];
      expect(Object.keys(state.data?.data ?? {}).sort()).toEqual(keys);
    });

    it('stores secrets without their values, and lists workspaces, blocks and tools', async () => {
      const { workspaceId } = server;
      const put = await client.PUT('/api/v2/secrets/{name}', {
        params: { path: { name: 'LOOM' } },
        body: { workspaceId, scope: 'workspace', value: 'warp-and-weft' },
      });
      expect(put.error).toBeUndefined();
      const query = { workspaceId };
      const listed = await client.GET('/api/v2/secrets', { params: { query } });
      expect(listed.data?.data).toMatchObject([{ name: 'LOOM' }]);
      expect(JSON.stringify(listed.data)).not.toContain('warp-and-weft');
      const workspaces = await client.GET('/api/v2/workspaces', {});
      expect(workspaces.data?.data.map(({ id }) => id)).toEqual([workspaceId]);
      const blocks = await client.GET('/api/v2/blocks', {
        params: { query: { workspaceId, search: 'agent' } },
      });
      expect(blocks.data?.data).not.toEqual([]);
      const tools = await client.GET('/api/v2/tools', {
        params: { query: { ...query, search: 'slack_message_reader' } },
      });
      expect(tools.data?.data).toMatchObject([{ id: 'slack_message_reader' }]);
    });

    it('receives errors with the declared error body', async () => {
      const params = { path: { workflowId: 'nothing' } };
      const { error, response } = await client.GET('/api/v2/workflows/{workflowId}', { params });
      expect(response.status).toBe(404);
      expect(error?.error).toEqual({ code: 'NOT_FOUND', message: 'Workflow not found' });
      const wrong = { workspaceId: server.workspaceId, name: 7 as never };
      const refused = await client.POST('/api/v2/workflows', { body: wrong });
      expect(refused.error?.error.code).toBe('BAD_REQUEST');
    });
  },
);
