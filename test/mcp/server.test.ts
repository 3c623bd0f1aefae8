import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { withWorkflowTools } from '@heddle/service/access';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { serveFetch } from '../support/mcp-server.ts';
import { block, fn, workflow } from '../support/workflow.ts';

const INPUT_OPTIONS = { inputFormat: [{ name: 'name', type: 'string', description: 'Whom to greet' }] };

let gate = Promise.withResolvers<void>();
/** The executor of blocks that wait for `gate`. */
const gateExecutor = {
  types: ['gate'],
  class: 'effect' as const,
  execute: async () => {
    await gate.promise;
    return { output: {} };
  },
};

let api: TestApi;
beforeAll(async () => {
  api = await createTestApi({ engineOptions: { blocks: [gateExecutor] } });
});

/** Serves these workflows as tools of the MCP server `team`. */
async function serve(workflowIds: string[]) {
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  return serveFetch(await withWorkflowTools(api.api.fetch, { servers: { team: workflowIds }, onError }));
}

/** Returns a connected official client. */
async function connect(
  url: string,
  { mode = 'auto', key = api.key }: { mode?: 'auto' | 'legacy'; key?: string },
) {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const endpoint = new URL('/api/mcp/serve/team', url);
  await client.connect(
    new StreamableHTTPClientTransport(endpoint, { requestInit: { headers: { 'X-API-Key': key } } }),
  );
  onTestFinished(() => client.close());
  return client;
}

describe.each(['auto', 'legacy'] as const)('an official MCP client (%s)', (mode) => {
  it('lists deployed workflows with their inputs, and runs them', async () => {
    const id = await api.deploy(
      workflow([fn('Greet', 'return "Hello " + <start.name>')], ['Start -> Greet'], INPUT_OPTIONS),
    );
    const draftId = await api.createDraft(workflow([], []));
    const { url } = await serve([id, draftId, 'unknown']);
    const client = await connect(url, { mode });
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([
      {
        inputSchema: {
          type: 'object',
          properties: { name: { type: 'string', description: 'Whom to greet' } },
        },
      },
    ]);
    const result = await client.callTool({ name: tools[0]?.name ?? '', arguments: { name: 'Ada' } });
    expect(JSON.stringify(result.content)).toContain('Hello Ada');
    const runId = result._meta?.['runId'] as string;
    const runResponse = await api.call('GET', `/api/v2/workflows/${id}/runs/${runId}`);
    expect(runResponse.data).toMatchObject({ status: 'completed' });
  });

  it('gets the error of a failed run', async () => {
    const id = await api.deploy(workflow([fn('Fail', 'throw new Error("no paper")')], ['Start -> Fail']));
    const { url } = await serve([id]);
    const client = await connect(url, { mode });
    const { tools } = await client.listTools();
    const result = await client.callTool({ name: tools[0]?.name ?? '', arguments: {} });
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result.content)).toContain('no paper');
  });
});

describe.each(['auto', 'legacy'] as const)('progress notifications of a call (%s)', (mode) => {
  it('contain the number of ended blocks of the run', async () => {
    const id = await api.deploy(
      workflow([fn('A', 'return 1'), block('G', 'gate', {}), fn('B', 'return 2')], ['Start -> A -> G -> B']),
    );
    const { url } = await serve([id]);
    const client = await connect(url, { mode });
    const { tools } = await client.listTools();
    const name = tools[0]?.name ?? '';
    gate = Promise.withResolvers();
    const reports: { progress: number; message?: string | undefined }[] = [];
    const onprogress = (report: (typeof reports)[number]) => {
      reports.push(report);
      gate.resolve();
    };
    const result = await client.callTool({ name, arguments: {} }, { onprogress });
    expect(result.isError).toBeUndefined();
    const numbers = reports.map(({ progress }) => progress);
    expect(numbers.length).toBeGreaterThan(0);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
    expect(numbers.at(-1)).toBeLessThanOrEqual(4);
    expect(reports[0]?.message).toMatch(/^\d blocks? ha(s|ve) ended\.$/);
  });
});

describe('the MCP endpoint', () => {
  it('describes the inputs of a workflow as a JSON schema', async () => {
    const inputFormat = [
      { name: 'names', type: 'array', required: true },
      { name: 'mode', type: 'any' },
    ];
    const { url } = await serve([await api.deploy(workflow([], [], { inputFormat }))]);
    const { tools } = await (await connect(url, {})).listTools();
    expect(tools[0]?.inputSchema).toEqual({
      type: 'object',
      properties: { names: { type: 'array', items: {} }, mode: {} },
      required: ['names'],
    });
  });

  it('refuses callers without a valid key', async () => {
    const id = await api.deploy(workflow([], []));
    const { url } = await serve([id]);
    await expect(connect(url, { key: 'wrong' })).rejects.toThrow(/401|unauthorized|key/i);
    const endpoint = new URL('/api/mcp/serve/team', url);
    expect(await fetch(endpoint, { method: 'POST', body: '{}' })).toMatchObject({ status: 401 });
  });

  it('lists no workflow for users of another workspace', async () => {
    const { url } = await serve([await api.deploy(workflow([], []))]);
    const userId = await api.store.workspaces.createUser({ email: 'eve@heddle.test', name: 'Eve' });
    const { key } = await api.store.keys.create({ userId }, 'foreign');
    expect((await (await connect(url, {})).listTools()).tools).toHaveLength(1);
    expect((await (await connect(url, { key })).listTools()).tools).toEqual([]);
  });

  it('returns the id of a run that waits for a person', async () => {
    const id = await api.deploy(workflow([block('Ask', 'human_in_the_loop', {})], ['Start -> Ask']));
    const { url } = await serve([id]);
    const client = await connect(url, {});
    const { tools } = await client.listTools();
    const result = await client.callTool({ name: tools[0]?.name ?? '', arguments: {} });
    expect(result.isError).toBeUndefined();
    expect(JSON.stringify(result.content)).toContain(`${String(result._meta?.['runId'])} waits for a person`);
  });

  it.each(['auto', 'legacy'] as const)('cancels the run when the client disconnects (%s)', async (mode) => {
    const { call, client, readStatuses } = await callWaitingWorkflow(mode);
    await Promise.all([expect(call).rejects.toThrow(/closed|abort/i), client.close()]);
    await expect.poll(readStatuses, { timeout: 10_000 }).toEqual(['cancelled']);
  });

  it('cancels the run when a client of protocol revision 2026-07-28 cancels the call', async () => {
    const { call, abortController, readStatuses } = await callWaitingWorkflow('auto');
    abortController.abort();
    await expect(call).rejects.toThrow(/abort/i);
    await expect.poll(readStatuses, { timeout: 10_000 }).toEqual(['cancelled']);
  });
});

/** Calls a workflow that waits for ten minutes. `readStatuses` reads the statuses of the runs of this workflow. */
async function callWaitingWorkflow(mode: 'auto' | 'legacy') {
  const id = await api.deploy(
    workflow([block('W', 'wait', { timeValue: '600', timeUnit: 'seconds' })], ['Start -> W']),
  );
  const { url } = await serve([id]);
  const client = await connect(url, { mode });
  const { tools } = await client.listTools();
  const abortController = new AbortController();
  const call = client.callTool(
    { name: tools[0]?.name ?? '', arguments: {} },
    { signal: abortController.signal },
  );
  const readStatuses = async () => {
    const { data } = await api.call<{ status: string }[]>('GET', `/api/v2/workflows/${id}/runs`);
    return data.map(({ status }) => status);
  };
  await expect.poll(readStatuses, { timeout: 10_000 }).toHaveLength(1);
  return { call, client, abortController, readStatuses };
}
