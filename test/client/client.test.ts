import type { Json } from '@heddle/core';
import createClient from 'openapi-fetch';
import openapiTS, { astToString } from 'openapi-typescript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { draftOf } from '../support/api.ts';
import { ECHO_WORKFLOW, FILE, FILE_BASE64 } from '../support/api-files.ts';
import { APPROVAL_WORKFLOW, GREETING_WORKFLOW } from '../support/api-workflows.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { startHeddleServe } from '../support/heddle.ts';
import type { RunningServer } from '../support/heddle.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import type { paths } from './fixtures/api.d.ts';

const SECRET_ENV = {
  HEDDLE_API_SECRET: 'a secret of at least thirty-two characters',
  HEDDLE_SECRET_KEYS: Buffer.alloc(32, 1).toString('base64'),
};
const POLL_OPTIONS = { timeout: 60_000 };

let server: RunningServer;
let client: ReturnType<typeof createClient<paths>>;

/** Creates an empty store. Returns the command-line options for the store. */
type CreateStore = (registerCleanup: (stop: () => void) => void) => Promise<readonly string[]>;

/** Starts `heddle serve` for the tests of this suite. */
function startServerBeforeAll(createStore: CreateStore): void {
  const cleanups: (() => void)[] = [];
  const registerCleanup = (stop: () => void): void => void cleanups.unshift(stop);
  beforeAll(async () => {
    server = await startHeddleServe(await createStore(registerCleanup), { env: SECRET_ENV, registerCleanup });
    client = createClient<paths>({ baseUrl: server.url, headers: { 'X-API-Key': server.key } });
  });
  afterAll(() => cleanups.forEach((stop) => stop()));
}

/** Returns the data of a response that is not a stream. */
function objectOf<T>(data: T | string | undefined): Exclude<T, string> {
  if (typeof data !== 'object')
    throw new Error(`The response is not a JSON object, but a value of the type ${typeof data}.`);
  return data as Exclude<T, string>;
}

/** Deploys a workflow. Returns its id. */
async function deploy(exportedWorkflow: Json, name: string): Promise<string> {
  const { workspaceId } = server;
  const createResponse = await client.POST('/api/v2/workflows', { body: { workspaceId, name } });
  const workflowId = createResponse.data!.data.id;
  const params = { path: { workflowId } };
  const body = draftOf(exportedWorkflow) as never;
  const putResponse = await client.PUT('/api/v2/workflows/{workflowId}/state', { params, body });
  expect(putResponse.data?.data).toMatchObject({ id: workflowId, dryRun: false });
  const deployResponse = await client.POST('/api/v2/workflows/{workflowId}/deploy', { params, body: {} });
  expect(deployResponse.data?.data).toMatchObject({ isDeployed: true, version: 1 });
  return workflowId;
}

/** Returns the exported workflow with `metadata` in its state, which exports of other tools contain. */
function withMetadata(exportedWorkflow: object): Record<string, unknown> {
  const { state, ...rest } = exportedWorkflow as { state: object };
  return { ...rest, state: { ...state, metadata: { name: 'Elsewhere' } } };
}

const STORES: readonly [name: string, isAvailable: boolean, createStore: CreateStore][] = [
  ['SQLite', true, async (registerCleanup) => ['--data', createDataFolder(registerCleanup)]],
  ['PostgreSQL', hasPostgres, async () => ['--postgres', await createPostgresDatabase()]],
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
      const workflowId = await deploy(GREETING_WORKFLOW, 'Greeting');
      const path = { workflowId };
      const executeResponse = await client.POST('/api/v2/workflows/{workflowId}/execute', {
        params: { path },
        body: { input: { name: 'Ada' }, selectedOutputs: ['Reply.data.hello'] },
      });
      expect(executeResponse.response.status).toBe(200);
      const result = objectOf(executeResponse.data).data;
      if (!('status' in result)) throw new Error('The response to a synchronous execution has no status.');
      expect(result).toMatchObject({ status: 'completed', blockOutputs: { 'Reply.data.hello': 'Ada' } });
      const { runId } = result;
      const readResponse = await client.GET('/api/v2/workflows/{workflowId}/runs/{runId}', {
        params: { path: { workflowId, runId }, query: { includeOutput: true } },
      });
      expect(readResponse.data?.data).toMatchObject({ runId, output: { data: { hello: 'Ada' } } });
      const listResponse = await client.GET('/api/v2/workflows/{workflowId}/runs', {
        params: { path, query: { status: 'completed', limit: 10 } },
      });
      expect(listResponse.data?.data.map((run) => run.runId)).toEqual([runId]);
      expect(listResponse.data?.nextCursor).toBeNull();
      const versionsResponse = await client.GET('/api/v2/workflows/{workflowId}/versions', {
        params: { path },
      });
      expect(versionsResponse.data?.data).toMatchObject([{ version: 1, isActive: true }]);
    });

    it('sends files, and lists and downloads the files of the output', async () => {
      const workflowId = await deploy(ECHO_WORKFLOW, 'Echo');
      const executeResponse = await client.POST('/api/v2/workflows/{workflowId}/execute', {
        params: { path: { workflowId } },
        body: { input: { doc: [FILE] }, includeFileBase64: false },
      });
      const { runId } = objectOf(executeResponse.data).data;
      const runResponse = await client.GET('/api/v2/workflows/{workflowId}/runs/{runId}', {
        params: { path: { workflowId, runId }, query: { includeOutput: true, includeFileBase64: true } },
      });
      const [file] = runResponse.data?.data.files ?? [];
      expect(file).toMatchObject({ name: 'abc.txt', base64: FILE_BASE64 });
      const path = { workflowId, runId, fileId: file?.id ?? '' };
      const fileRoute = '/api/v2/workflows/{workflowId}/runs/{runId}/files/{fileId}';
      const fileResponse = await client.GET(fileRoute, { params: { path }, parseAs: 'text' });
      expect(fileResponse.data).toBe('abc');
      const missingFileResponse = await client.GET(fileRoute, {
        params: { path: { ...path, fileId: 'none' } },
      });
      expect(missingFileResponse.error).toEqual({ error: { code: 'NOT_FOUND', message: 'File not found' } });
    });

    it('starts and resumes asynchronous runs', async () => {
      const workflowId = await deploy(APPROVAL_WORKFLOW, 'Approval');
      const startResponse = await client.POST('/api/v2/workflows/{workflowId}/execute', {
        params: { path: { workflowId } },
        body: { async: true },
      });
      expect(startResponse.response.status).toBe(202);
      const { runId } = objectOf(startResponse.data).data;
      const params = { path: { workflowId, runId } };
      const readRun = () => client.GET('/api/v2/workflows/{workflowId}/runs/{runId}', { params });
      await expect.poll(async () => (await readRun()).data?.data.status, POLL_OPTIONS).toBe('paused');
      const contextId = (await readRun()).data?.data.paused?.contextId ?? '';
      const resumeResponse = await client.POST('/api/v2/workflows/{workflowId}/runs/{runId}/resume', {
        params,
        body: { contextId, input: { ok: true } },
      });
      expect([200, 202]).toContain(resumeResponse.response.status);
      await expect.poll(async () => (await readRun()).data?.data.status, POLL_OPTIONS).toBe('completed');
    });

    it('reads logs, and copies a workflow by export and import', async () => {
      const { workspaceId } = server;
      const workflowId = await deploy(GREETING_WORKFLOW, 'Moved');
      const params = { path: { workflowId } };
      const executeResponse = await client.POST('/api/v2/workflows/{workflowId}/execute', {
        params,
        body: { input: { name: 'Ada' } },
      });
      const { runId } = objectOf(executeResponse.data).data;
      const listLogs = () =>
        client.GET('/api/v2/logs', { params: { query: { workspaceId, workflowIds: workflowId } } });
      await expect
        .poll(async () => (await listLogs()).data?.data.map((log) => log.runId), POLL_OPTIONS)
        .toEqual([runId]);
      const exportResponse = await client.GET('/api/v2/workflows/{workflowId}/export', { params });
      const importResponse = await client.POST('/api/v2/workflows/import', {
        body: { workspaceId, workflow: withMetadata(exportResponse.data!.data) },
      });
      expect(importResponse.data?.data).toMatchObject({ workspaceId });
      const stateResponse = await client.GET('/api/v2/workflows/{workflowId}/state', {
        params: { path: { workflowId: importResponse.data!.data.id } },
      });
      const keys = ['blocks', 'edges', 'loops', 'parallels', 'variables'];
      expect(Object.keys(stateResponse.data?.data ?? {}).sort()).toEqual(keys);
    });

    it('stores secrets without their values, and lists workspaces, blocks and tools', async () => {
      const { workspaceId } = server;
      const putResponse = await client.PUT('/api/v2/secrets/{name}', {
        params: { path: { name: 'LOOM' } },
        body: { workspaceId, scope: 'workspace', value: 'warp-and-weft' },
      });
      expect(putResponse.error).toBeUndefined();
      const query = { workspaceId };
      const listResponse = await client.GET('/api/v2/secrets', { params: { query } });
      expect(listResponse.data?.data).toMatchObject([{ name: 'LOOM' }]);
      expect(JSON.stringify(listResponse.data)).not.toContain('warp-and-weft');
      const workspacesResponse = await client.GET('/api/v2/workspaces', {});
      expect(workspacesResponse.data?.data.map(({ id }) => id)).toEqual([workspaceId]);
      const blocksResponse = await client.GET('/api/v2/blocks', {
        params: { query: { workspaceId, search: 'agent' } },
      });
      expect(blocksResponse.data?.data).not.toEqual([]);
      const toolsResponse = await client.GET('/api/v2/tools', {
        params: { query: { ...query, search: 'slack_message_reader' } },
      });
      expect(toolsResponse.data?.data).toMatchObject([{ id: 'slack_message_reader' }]);
    });

    it('receives errors with the declared error body', async () => {
      const params = { path: { workflowId: 'nothing' } };
      const { error, response } = await client.GET('/api/v2/workflows/{workflowId}', { params });
      expect(response.status).toBe(404);
      expect(error?.error).toEqual({ code: 'NOT_FOUND', message: 'Workflow not found' });
      const invalidBody = { workspaceId: server.workspaceId, name: 7 as never };
      const errorResponse = await client.POST('/api/v2/workflows', { body: invalidBody });
      expect(errorResponse.error?.error.code).toBe('BAD_REQUEST');
    });
  },
);
