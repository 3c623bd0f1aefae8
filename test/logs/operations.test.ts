import { createEngine } from '@heddle/engine';
import { openServiceStore } from '@heddle/service';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorIn, tenantOptionsOf, createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { APPROVAL_WORKFLOW, FAILING_WORKFLOW, GREETING_WORKFLOW } from '../support/api-workflows.ts';
import type { RunResponse } from '../support/api-workflows.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';

interface LogEntry {
  runId: string;
  workflowId: string;
  status: string;
  trigger: string;
  deploymentVersionId: string | null;
}

interface LogApi extends TestApi {
  list(query?: {
    [name: string]: string;
  }): Promise<{ status: number; entries: LogEntry[]; next: string | null }>;
  run(workflowId: string, headers?: { [name: string]: string }): Promise<RunResponse>;
}

async function setUp(postgresUrl?: string): Promise<LogApi> {
  const secret = 'x'.repeat(32);
  const storeOptions = postgresUrl === undefined ? {} : { postgres: { url: postgresUrl }, secret };
  const store = await openServiceStore(storeOptions);
  const engine = await createEngine(tenantOptionsOf(store));
  const api = await createTestApi({ engine, store, repeat: () => () => undefined });
  return {
    ...api,
    list: async (query = {}) => {
      const search = new URLSearchParams({ workspaceId: api.workspaceId, ...query }).toString();
      const { status, body } = await api.call('GET', `/api/v2/logs?${search}`);
      const { data = [], nextCursor = null } = body as { data?: LogEntry[]; nextCursor?: string | null };
      return { status, entries: data, next: nextCursor };
    },
    run: async (workflowId, headers = {}) => {
      const path = `/api/v2/workflows/${workflowId}/execute`;
      return (await api.call<RunResponse>('POST', path, { body: {}, headers })).data;
    },
  };
}

const STORE_NAMES = storesToTest('operations of the log');

describe.each(STORE_NAMES)('the operations of the log on %s', (name) => {
  let url: string | undefined;
  beforeAll(async () => {
    url = name === 'postgres' ? await createPostgresDatabase() : undefined;
  });

  it('list the runs of all workflows together, with run id, trigger and version, in pages', async () => {
    const api = await setUp(url);
    const [greetingId, brokenId] = [await api.deploy(GREETING_WORKFLOW), await api.deploy(FAILING_WORKFLOW)];
    await api.run(greetingId, { 'X-Run-Id': 'mine' });
    await api.run(brokenId);
    const draftRunBody = { run: { source: 'manual' } };
    await api.call('POST', `/api/v2/workflows/${greetingId}/execute`, { body: draftRunBody });
    const { entries } = await api.list({ sortOrder: 'asc' });
    expect(entries).toMatchObject([
      {
        runId: 'mine',
        workflowId: greetingId,
        status: 'completed',
        trigger: 'api',
        deploymentVersionId: `${greetingId}:1`,
      },
      { workflowId: brokenId, status: 'failed', trigger: 'api' },
      { workflowId: greetingId, trigger: 'manual', deploymentVersionId: null },
    ]);
    const firstPage = await api.list({ sortOrder: 'asc', limit: '2' });
    expect(firstPage.entries).toEqual(entries.slice(0, 2));
    const secondPage = await api.list({ sortOrder: 'asc', limit: '9', cursor: firstPage.next ?? '' });
    expect(secondPage).toMatchObject({ entries: entries.slice(2), next: null });
    expect((await api.list({ level: 'error' })).entries).toHaveLength(1);
  });

  it('refuse cursors that were issued for other filters, unknown parameters, empty values and a missing workspace', async () => {
    const api = await setUp(url);
    const id = await api.deploy(GREETING_WORKFLOW);
    await api.run(id);
    await api.run(id);
    const { next } = await api.list({ limit: '1' });
    for (const query of [
      { cursor: next ?? '', sortBy: 'cost' },
      { cursor: next ?? '', level: 'info' },
      { cursor: 'forged' },
      { order: 'asc' },
      { status: '' },
      { status: 'queued' },
      { startDate: 'yesterday' },
      { minCost: '-1' },
      { workflowName: 'x'.repeat(201) },
    ])
      expect([query, (await api.list(query)).status]).toEqual([query, 400]);
    expect((await api.call('GET', '/api/v2/logs')).status).toBe(400);
    expect((await api.list({ limit: '100000' })).status).toBe(200);
  });

  it('show a run with its spans and the graph that it executed', async () => {
    const api = await setUp(url);
    const id = await api.deploy(GREETING_WORKFLOW);
    const { runId } = await api.run(id);
    const { status, data } = await api.call<{ workflowState: { blocks: object }; traceSpans: object[] }>(
      'GET',
      `/api/v2/logs/${runId}`,
    );
    expect(status).toBe(200);
    expect(data).toMatchObject({
      runId,
      workflow: { id, deleted: false },
      finalOutput: { data: { hello: 'nobody' } },
    });
    expect(data.traceSpans).toHaveLength(3);
    expect(Object.values(data.workflowState.blocks)).toContainEqual(
      expect.objectContaining({ name: 'Reply' }),
    );
  });

  it('return statistics with the number of runs', async () => {
    const api = await setUp(url);
    await api.run(await api.deploy(GREETING_WORKFLOW));
    const { data } = await api.call(
      'GET',
      `/api/v2/logs/stats?workspaceId=${api.workspaceId}&segmentCount=5`,
    );
    expect(data).toMatchObject({ totalRuns: 1, totalErrors: 0, workflows: [{ totalSuccessful: 1 }] });
    const invalidPath = `/api/v2/logs/stats?workspaceId=${api.workspaceId}&segmentCount=0`;
    expect((await api.call('GET', invalidPath)).status).toBe(400);
  });

  it('conceal the runs of other workspaces', async () => {
    const api = await setUp(url);
    const { runId } = await api.run(await api.deploy(GREETING_WORKFLOW));
    const outsiderId = await api.store.workspaces.createUser({
      email: `${crypto.randomUUID()}@x.test`,
      name: 'S',
    });
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Elsewhere', outsiderId);
    const personalKey = await api.store.keys.create({ userId: outsiderId }, 's');
    const workspaceKey = await api.store.keys.create({ workspaceId: otherWorkspaceId }, 'e');
    for (const { key } of [personalKey, workspaceKey]) {
      const response = await api.call('GET', `/api/v2/logs/${runId}`, { key });
      expect(response.status).toBe(404);
      expect(errorIn(response.body).message).toBe('Log not found');
      for (const path of ['logs', 'logs/stats'])
        expect(
          (await api.call('GET', `/api/v2/${path}?workspaceId=${api.workspaceId}`, { key })).status,
        ).toBe(404);
    }
    expect((await api.call('GET', '/api/v2/logs/unknown')).status).toBe(404);
    expect((await api.call('GET', `/api/v2/logs/${runId}`, { key: null })).status).toBe(401);
  });

  it('accept workspace keys, and refuse personal keys if they are disabled', async () => {
    const api = await setUp(url);
    const { runId } = await api.run(await api.deploy(APPROVAL_WORKFLOW));
    const { key } = await api.store.keys.create({ workspaceId: api.workspaceId }, 'own');
    expect((await api.call('GET', `/api/v2/logs/${runId}`, { key })).status).toBe(200);
    await api.store.workspaces.setPersonalKeysAllowed(api.workspaceId, false);
    expect(await api.call('GET', `/api/v2/logs/${runId}`)).toMatchObject({
      status: 403,
      body: { error: { details: { code: 'PERSONAL_API_KEYS_DISABLED' } } },
    });
    expect((await api.call('GET', `/api/v2/logs/${runId}`, { key })).status).toBe(200);
  });

  it('respond to HEAD like GET, without a body', async () => {
    const api = await setUp(url);
    const { runId } = await api.run(await api.deploy(GREETING_WORKFLOW));
    const response = await api.fetch('HEAD', `/api/v2/logs/${runId}`);
    expect([response.status, await response.text()]).toEqual([200, '']);
    expect((await api.fetch('HEAD', '/api/v2/logs/unknown')).status).toBe(404);
  });
});
