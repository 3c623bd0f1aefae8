import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeTools } from '@heddle/blocks';
import { BLOCK_FIELDS } from '@heddle/core/drafts';
import type { CatalogTool, ConnectorType } from '@heddle/service/areas';
import { beforeAll, describe, expect, it } from 'vitest';
import { main } from '../../packages/cli/src/main.ts';
import { errorIn, createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { createRecordingIo } from '../support/io.ts';

interface Block {
  id: string;
  name: string;
  category: string;
  triggerCapable: boolean;
}

interface BlockDetail extends Block {
  inputSchema: { id: string; type: string; password?: boolean; options?: { id: string }[] }[];
  inputDefinitions: { [name: string]: { type: string; schema: object } };
  outputs: { [name: string]: { type: string } };
}

describe('the catalog of block types', () => {
  let api: TestApi;
  let workspaceQuery: string;

  beforeAll(async () => {
    api = await createTestApi();
    workspaceQuery = `workspaceId=${api.workspaceId}`;
  });

  async function listBlockTypes(query: string): Promise<{ data: Block[]; nextCursor: string | null }> {
    const { status, body } = await api.call('GET', `/api/v2/blocks?${workspaceQuery}${query}`);
    expect(status).toBe(200);
    return body as { data: Block[]; nextCursor: string | null };
  }

  it('lists every block type that the engine runs, in pages', async () => {
    const ids: string[] = [];
    let cursor = '';
    do {
      const { data, nextCursor } = await listBlockTypes(`&limit=7${cursor}`);
      ids.push(...data.map(({ id }) => id));
      cursor = nextCursor === null ? '' : `&cursor=${nextCursor}`;
    } while (cursor !== '');
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining([...BLOCK_FIELDS.keys(), 'agent', 'router_v2']));
  });

  it('can be filtered by capability and by a search text', async () => {
    const triggers = (await listBlockTypes('&capability=trigger')).data;
    expect(triggers.map(({ id }) => id)).toContain('start_trigger');
    expect(triggers.every(({ category, triggerCapable }) => category === 'triggers' && triggerCapable)).toBe(
      true,
    );
    expect((await listBlockTypes('&search=HTTP%20request')).data.map(({ id }) => id)).toContain('api');
    expect((await listBlockTypes('&search=%25')).data).toEqual([]);
  });

  it('returns the fields and outputs of every block type', async () => {
    for (const { id, name } of (await listBlockTypes('&limit=100')).data) {
      const { status, data } = await api.call<BlockDetail>('GET', `/api/v2/blocks/${id}?${workspaceQuery}`);
      expect([status, data.id, data.name]).toEqual([200, id, name]);
      expect(data.inputSchema.map((field) => field.id)).toEqual(Object.keys(data.inputDefinitions));
    }
    const { data } = await api.call<BlockDetail>('GET', `/api/v2/blocks/api?${workspaceQuery}`);
    expect(data.inputSchema.find(({ id }) => id === 'method')).toMatchObject({
      type: 'dropdown',
      options: expect.arrayContaining([{ id: 'POST' }]) as object[],
    });
    expect(data.outputs['status']).toMatchObject({ type: 'number' });
    const agent = await api.call<BlockDetail>('GET', `/api/v2/blocks/agent?${workspaceQuery}`);
    expect(agent.data.inputSchema.find(({ id }) => id === 'apiKey')).toMatchObject({ password: true });
  });

  it.each(['none', '__proto__', 'API'])('returns 404 for the unknown block type %s', async (type) => {
    const { status, body } = await api.call('GET', `/api/v2/blocks/${type}?${workspaceQuery}`);
    expect([status, errorIn(body).message]).toEqual([404, 'Block not found']);
  });

  it('can be read with a key of the workspace, but not by users of other workspaces', async () => {
    const { key } = await api.store.keys.create({ workspaceId: api.workspaceId }, 'workspace');
    expect((await api.call('GET', `/api/v2/blocks?${workspaceQuery}`, { key })).status).toBe(200);
    const userId = await api.store.workspaces.createUser({ email: 'other@x.test', name: 'O' });
    const otherUserKey = (await api.store.keys.create({ userId }, 'other')).key;
    for (const path of ['/api/v2/blocks', '/api/v2/blocks/api']) {
      const foreignResponse = await api.call('GET', `${path}?${workspaceQuery}`, { key: otherUserKey });
      const absentResponse = await api.call('GET', `${path}?workspaceId=none`, { key: otherUserKey });
      expect([foreignResponse.status, foreignResponse.body]).toEqual([404, absentResponse.body]);
      expect((await api.call('GET', path)).status).toBe(400);
    }
  });

  it('refuses a cursor from a list with another order', async () => {
    const { nextCursor } = await listBlockTypes('&limit=1&sortBy=name');
    const path = `/api/v2/blocks?${workspaceQuery}&sortBy=category&cursor=${nextCursor}`;
    expect((await api.call('GET', path)).status).toBe(400);
  });
});

describe('the tools of the host', () => {
  const calls: object[] = [];
  let api: TestApi;

  beforeAll(async () => {
    const forecast: CatalogTool = {
      id: 'forecast',
      name: 'Forecast',
      description: 'Forecasts the weather.',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      async run(args) {
        calls.push(args);
        if (args['city'] === 'Atlantis') throw new Error('There is no such city.');
        return { sunny: true };
      },
    };
    api = await createTestApi({ tools: [forecast] });
  });

  const execute = (body: object, options: { id?: string; key?: string } = {}) =>
    api.call('POST', `/api/v2/tools/${options.id ?? 'forecast'}/execute`, {
      body: { workspaceId: api.workspaceId, input: { city: 'Ulm' }, ...body },
      ...(options.key !== undefined && { key: options.key }),
    });

  async function createMemberKey(role: 'read' | 'write'): Promise<string> {
    const userId = await api.store.workspaces.createUser({
      email: `${crypto.randomUUID()}@x.test`,
      name: 'B',
    });
    await api.store.workspaces.setMember(api.workspaceId, userId, role);
    return (await api.store.keys.create({ userId }, 'member')).key;
  }

  it('are listed, and each can be read by id', async () => {
    const query = `workspaceId=${api.workspaceId}`;
    const listResponse = await api.call('GET', `/api/v2/tools?${query}`);
    const summary = {
      id: 'forecast',
      name: 'Forecast',
      description: 'Forecasts the weather.',
      hostedApiKey: 'none',
    };
    expect([listResponse.status, listResponse.body]).toEqual([200, { data: [summary], nextCursor: null }]);
    const { data } = await api.call('GET', `/api/v2/tools/forecast?${query}`);
    expect(data).toEqual({ ...summary, params: { city: { type: 'string', required: true } }, outputs: {} });
    expect((await api.call('GET', `/api/v2/tools/none?${query}`)).status).toBe(404);
  });

  it('run for members with write access, and each execution is in the audit log', async () => {
    const { status, data } = await execute({}, { key: await createMemberKey('write') });
    expect([status, data]).toEqual([
      200,
      { toolId: 'forecast', status: 'completed', output: { sunny: true }, error: null },
    ]);
    const failedResponse = await execute({ input: { city: 'Atlantis' } });
    expect([failedResponse.status, failedResponse.data]).toEqual([
      200,
      { toolId: 'forecast', status: 'failed', output: null, error: 'There is no such city.' },
    ]);
    const auditEvents = await api.store.audit.listByResource('forecast');
    expect(auditEvents.map(({ action }) => action)).toEqual(['TOOL_EXECUTED', 'TOOL_EXECUTED']);
  });

  it('do not run for readers, workspace keys or users of other workspaces, or with invalid input', async () => {
    const callCount = calls.length;
    const { key: workspaceKey } = await api.store.keys.create({ workspaceId: api.workspaceId }, 'w');
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Other', api.userId);
    const userId = await api.store.workspaces.createUser({ email: 'foreign@x.test', name: 'F' });
    const otherUserKey = (await api.store.keys.create({ userId }, 'foreign')).key;
    expect((await execute({}, { key: await createMemberKey('read') })).status).toBe(403);
    expect((await execute({}, { key: workspaceKey })).status).toBe(403);
    expect((await execute({}, { key: otherUserKey })).status).toBe(404);
    expect(
      (await execute({ workspaceId: otherWorkspaceId }, { key: await createMemberKey('write') })).status,
    ).toBe(404);
    expect((await execute({}, { id: 'none' })).status).toBe(404);
    expect((await execute({ credentialId: 'c' })).status).toBe(404);
    for (const body of [{ input: {} }, { input: { city: 1 } }, { input: [] }, { timeoutSeconds: 301 }])
      expect((await execute(body)).status).toBe(400);
    expect(calls).toHaveLength(callCount);
  });
});

describe('the tools of integrations and tool files', () => {
  it('are listed with their arguments, and run only in workflows', async () => {
    const code = [
      {
        ...{ id: 'mean', description: 'The mean.', language: 'python' as const, code: 'return 1' },
        arguments: { type: 'object', properties: { values: { type: 'array' } } },
      },
    ];
    const file = { version: 1 as const, services: {}, tools: [], $defs: {}, code };
    const folder = createDataFolder();
    const path = join(folder, 'own.tools.json');
    writeFileSync(path, JSON.stringify(file));
    const api = await createTestApi({ tools: [], describeTools: () => describeTools([file]) });
    const query = `workspaceId=${api.workspaceId}`;
    const ids: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const { body } = await api.call('GET', `/api/v2/tools?${query}&limit=100${cursor}`);
      const { data, nextCursor } = body as { data: { id: string }[]; nextCursor: string | null };
      ids.push(...data.map(({ id }) => id));
      cursor = nextCursor === null ? null : `&cursor=${nextCursor}`;
    }
    const listToolIds = async (...files: string[]): Promise<string[]> => {
      const io = createRecordingIo();
      await main(['tools', 'list', ...files, '--json'], io);
      return (JSON.parse(io.stdout.text) as { data: { id: string }[] }).data.map(({ id }) => id);
    };
    expect(ids).toEqual([...(await listToolIds()), ...(await listToolIds(path))].toSorted());
    expect((await api.call('GET', `/api/v2/tools/slack_message?${query}`)).data).toMatchObject({
      id: 'slack_message',
      params: { channel: { type: 'string', required: true } },
    });
    const body = { workspaceId: api.workspaceId, input: {} };
    expect((await api.call('POST', '/api/v2/tools/slack_message/execute', { body })).data).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('runs only in workflows') as string,
    });
  });
});

describe('the connector types', () => {
  const wiki: ConnectorType = {
    connectorType: 'wiki',
    name: 'Wiki',
    description: 'Reads the pages of a wiki.',
    version: '1.2.0',
    auth: { mode: 'apiKey', label: 'Token', optional: true },
    configFields: [
      { id: 'pick', title: 'Space', type: 'selector', selectorKey: 'wiki.spaces', canonicalParamId: 'space' },
      { id: 'typed', title: 'Space', type: 'short-input', canonicalParamId: 'space', multi: true },
    ],
    supportsIncrementalSync: true,
    tagDefinitions: [{ id: 'author', displayName: 'Author', fieldType: 'text' }],
  };
  const drive: ConnectorType = {
    ...{ connectorType: 'drive', name: 'Drive', description: 'Reads files.', version: '1.0.0' },
    auth: { mode: 'oauth', provider: 'example', requiredScopes: ['files.read'] },
    ...{ configFields: [], supportsIncrementalSync: false, tagDefinitions: [] },
  };
  // Additional fields that the host sets are not returned.
  const registeredType = { ...wiki, clientSecret: 'hidden', auth: { ...wiki.auth, token: 'hidden' } };
  let api: TestApi;

  beforeAll(async () => {
    api = await createTestApi({ connectorTypes: [registeredType, drive] });
  });

  const listConnectorTypes = async (query = '') => {
    const { status, body } = await api.call(
      'GET',
      `/api/v2/connector-types?workspaceId=${api.workspaceId}${query}`,
    );
    return { status, ...(body as { data: object[]; nextCursor: string | null }) };
  };

  it('are listed as summaries or in full, without additional fields of the host', async () => {
    const summary = [
      { connectorType: 'drive', name: 'Drive', description: 'Reads files.', auth: { mode: 'oauth' } },
      { connectorType: 'wiki', name: 'Wiki', description: wiki.description, auth: { mode: 'apiKey' } },
    ];
    expect(await listConnectorTypes()).toEqual({ status: 200, data: summary, nextCursor: null });
    expect((await listConnectorTypes('&detail=full')).data).toEqual([drive, wiki]);
  });

  it('are searched without regard to case, and returned in pages', async () => {
    expect((await listConnectorTypes('&search=PAGES')).data).toMatchObject([{ connectorType: 'wiki' }]);
    expect((await listConnectorTypes('&search=none')).data).toEqual([]);
    const first = await listConnectorTypes('&limit=1');
    expect(first.data).toMatchObject([{ connectorType: 'drive' }]);
    const second = await listConnectorTypes(`&limit=1&cursor=${first.nextCursor}`);
    expect(second).toMatchObject({ data: [{ connectorType: 'wiki' }], nextCursor: null });
    expect((await listConnectorTypes(`&limit=1&detail=full&cursor=${first.nextCursor}`)).status).toBe(400);
    for (const limit of [0, 101]) expect((await listConnectorTypes(`&limit=${limit}`)).status).toBe(400);
  });

  it('are an empty list by default, and are refused with duplicate names or missing fields', async () => {
    const emptyApi = await createTestApi();
    const { body } = await emptyApi.call(
      'GET',
      `/api/v2/connector-types?workspaceId=${emptyApi.workspaceId}`,
    );
    expect(body).toEqual({ data: [], nextCursor: null });
    await expect(createTestApi({ connectorTypes: [wiki, wiki] })).rejects.toThrow(
      'two connector types "wiki"',
    );
    const { version: _, ...incompleteType } = wiki;
    await expect(createTestApi({ connectorTypes: [incompleteType as ConnectorType] })).rejects.toThrow(
      '"version"',
    );
  });
});
