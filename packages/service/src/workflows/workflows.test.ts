import { describe, expect, it } from 'vitest';
import { draftOf, createTestApi } from '../../../../test/support/api.ts';
import { block, fn, workflow } from '../../../../test/support/workflow.ts';

const api = await createTestApi();
const { call, workspaceId } = api;

const GREETING = workflow(
  [block('Reply', 'response', { dataMode: 'json', data: '{"hello": "<start.name>"}' })],
  ['Start -> Reply'],
);

interface CreatedWorkflow {
  id: string;
  blocks: { id: string; type: string; name: string }[];
}

async function createWorkflow(name: string = crypto.randomUUID()): Promise<CreatedWorkflow> {
  return (await call<CreatedWorkflow>('POST', '/api/v2/workflows', { body: { workspaceId, name } })).data;
}

describe('workflows', () => {
  it('are created with a start block', async () => {
    const response = await call<CreatedWorkflow>('POST', '/api/v2/workflows', {
      body: { workspaceId, name: ' Weave ', description: 'Threads' },
    });
    expect(response.status).toBe(201);
    expect(response.data).toMatchObject({
      name: 'Weave',
      description: 'Threads',
      folderPath: '/',
      workspaceId,
      isDeployed: false,
      deployedAt: null,
      runCount: 0,
      lastRunAt: null,
      blocks: [{ type: 'start_trigger', name: 'Start' }],
    });
    const state = await call<{ blocks: object }>('GET', `/api/v2/workflows/${response.data.id}/state`);
    expect(Object.keys(state.data.blocks)).toEqual([response.data.blocks[0]?.id]);
  });

  it('show how many of their runs have ended, and when the last one began', async () => {
    const id = await api.deploy(GREETING);
    const run = await call<{ startedAt: string }>('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    // Listing the log updates its index, which counts the runs.
    await call('GET', `/api/v2/logs?workspaceId=${workspaceId}`);
    const detailResponse = await call('GET', `/api/v2/workflows/${id}`);
    expect(detailResponse.data).toMatchObject({ runCount: 1, lastRunAt: run.data.startedAt });
  });

  it.each([
    [{ name: '' }, 400, 'name is required'],
    [{}, 400, 'name is required'],
    [{ name: 'x'.repeat(256) }, 400, 'name must have at most 255 characters'],
    [{ name: 'a', workspaceId: undefined }, 400, 'workspaceId is required'],
    [{ name: 'a', workspaceId: 'x'.repeat(129) }, 400, 'workspaceId must have at most 128 characters'],
    [{ name: 'a', folderPath: '/nowhere' }, 404, 'Folder not found'],
    [{ name: 'a', colour: 'red' }, 400, 'Unrecognized key: "colour"'],
  ])('are not created with the body %o', async (body, status, message) => {
    const response = await call('POST', '/api/v2/workflows', { body: { workspaceId, ...body } });
    expect(response.status).toBe(status);
    expect(response.body).toMatchObject({ error: { message } });
  });

  it('have unique names in a folder', async () => {
    await createWorkflow('Twice');
    const response = await call('POST', '/api/v2/workflows', { body: { workspaceId, name: 'Twice' } });
    expect(response).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
  });

  it('are each listed once across all pages, in every order', async () => {
    const newApi = await createTestApi();
    for (const name of ['b', 'a', 'C', 'd']) {
      await newApi.call('POST', '/api/v2/workflows', { body: { workspaceId: newApi.workspaceId, name } });
    }
    const list = async (parameters: string): Promise<string[][]> => {
      const pages: string[][] = [];
      for (let cursor: string | null = ''; cursor !== null;) {
        const cursorParameter: string = cursor === '' ? '' : `&cursor=${cursor}`;
        const path = `/api/v2/workflows?workspaceId=${newApi.workspaceId}${parameters}${cursorParameter}`;
        const response = await newApi.call<{ name: string }[]>('GET', path);
        expect(response.status).toBe(200);
        pages.push(response.data.map(({ name }) => name));
        cursor = (response.body as { nextCursor: string | null }).nextCursor;
      }
      return pages;
    };
    expect(await list('&limit=3')).toEqual([['b', 'a', 'C'], ['d']]);
    expect(await list('&sortBy=name&limit=2')).toEqual([
      ['C', 'a'],
      ['b', 'd'],
    ]);
    expect(await list('&sortBy=name&sortOrder=desc&limit=4')).toEqual([['d', 'b', 'a', 'C']]);
    expect((await list('&sortBy=runCount&limit=3')).flat().toSorted()).toEqual(['C', 'a', 'b', 'd']);
    expect(await list('&search=c')).toEqual([['C']]);
    expect(await list('&search=%25')).toEqual([[]]);
    expect(await list('&scope=archived')).toEqual([[]]);
    expect(await list('&deployedOnly=true')).toEqual([[]]);
    expect(await list('&folderPath=%2Felsewhere')).toEqual([[]]);
  });

  it('refuse a forged cursor, and the cursor of another query', async () => {
    await createWorkflow();
    await createWorkflow();
    const path = `/api/v2/workflows?workspaceId=${workspaceId}&limit=1`;
    const { nextCursor } = (await call('GET', path)).body as { nextCursor: string };
    expect(await call('GET', `${path}&cursor=${nextCursor}`)).toMatchObject({ status: 200 });
    expect(await call('GET', `${path}&cursor=${nextCursor}&sortBy=name`)).toMatchObject({ status: 400 });
    expect(await call('GET', `${path}&cursor=nonsense`)).toMatchObject({ status: 400 });
  });

  it('show the inputs of the live version', async () => {
    const inputFormat = [{ name: 'name', type: 'string', description: 'Whom to greet' }];
    const id = await api.deploy(workflow([], [], { inputFormat }));
    const response = await call('GET', `/api/v2/workflows/${id}`);
    expect(response.data).toMatchObject({ id, isDeployed: true, variables: {}, inputs: inputFormat });
  });
});

describe('a draft', () => {
  it('is replaced as a whole; its blocks define the containers, and its variables stay', async () => {
    const { id } = await createWorkflow();
    const path = `/api/v2/workflows/${id}/state`;
    const variables = { v1: { id: 'v1', name: 'thread', type: 'string', value: 'red' } };
    const loop = { type: 'loop', name: 'L', data: { loopType: 'for', count: 3 } };
    const inner = { type: 'function', name: 'In', data: { parentId: `${id}-l` } };
    const blocks = { [`${id}-l`]: loop, [`${id}-f`]: inner };
    const body = { blocks, edges: [], loops: { ghost: {} }, variables };
    expect(await call('PUT', path, { body })).toMatchObject({ status: 200 });
    expect(await call('PUT', path, { body: { blocks, edges: [] } })).toMatchObject({ status: 200 });
    const readResponse = await call<{ loops: object }>('GET', path);
    expect(readResponse.data).toMatchObject({
      variables,
      loops: { [`${id}-l`]: { nodes: [`${id}-f`], iterations: 3 } },
    });
    expect(Object.keys(readResponse.data.loops)).toEqual([`${id}-l`]);
    expect(await call('PUT', path, { body: readResponse.data })).toMatchObject({
      status: 200,
      data: { warnings: [] },
    });
  });

  it('warns about dropped and replaced keys', async () => {
    const { id } = await createWorkflow();
    const path = `/api/v2/workflows/${id}/state`;
    const idPrefix = crypto.randomUUID();
    const blocks = {
      [`${idPrefix}-a`]: { type: 'function', name: 'A', colour: 'red', selected: true },
      [`${idPrefix}-b`]: { type: 'function', name: 'B', colour: 'blue' },
    };
    const edges = [{ id: `${idPrefix}-e`, source: `${idPrefix}-a`, target: `${idPrefix}-b`, animated: true }];
    const variables = [{ id: 'v', name: 'v', type: 'string', value: '', workflowId: 'w' }];
    const body = { blocks, edges, variables, loops: { ghost: {} } };
    for (const query of ['?dryRun=true', ''])
      expect(await call('PUT', path + query, { body })).toMatchObject({
        status: 200,
        data: {
          warnings: [
            '"loops" was replaced: the blocks define it.',
            'The key "colour" of block "A" and 1 more was dropped: drafts do not have it.',
            'The key "selected" of block "A" was dropped: drafts do not have it.',
            `The key "animated" of edge "${idPrefix}-e" was dropped: drafts do not have it.`,
            'The key "workflowId" of variable "v" was dropped: drafts do not have it.',
          ],
        },
      });
    const readResponse = await call<{ blocks: object; variables: object }>('GET', path);
    expect(JSON.stringify(readResponse.data)).not.toMatch(/colour|selected|animated|workflowId/);
    expect(readResponse.data.variables).toEqual({ v: { id: 'v', name: 'v', type: 'string', value: '' } });
  });

  it('can be the state of an exported file', async () => {
    const { id } = await createWorkflow();
    const definition = workflow([fn('A', 'return 1')], ['Start -> A']) as { state: object };
    const exportedDraft = draftOf(definition as never);
    const body = {
      ...{ ...definition.state, ...exportedDraft, metadata: null, variables: null },
      ...{
        lastSaved: 1,
        isDeployed: true,
        deployedAt: null,
        deploymentStatuses: {},
        needsRedeployment: false,
      },
    };
    const response = await call<{ warnings: string[] }>('PUT', `/api/v2/workflows/${id}/state`, { body });
    expect(response.status).toBe(200);
    expect(response.data.warnings).toContain(
      'The key "lastSaved" of the graph was dropped: drafts do not have it.',
    );
    expect(await call('POST', `/api/v2/workflows/${id}/deploy`)).toMatchObject({ status: 200 });
    const unknownKeyResponse = await call('PUT', `/api/v2/workflows/${id}/state`, {
      body: { ...body, colour: 'red' },
    });
    expect(unknownKeyResponse).toMatchObject({ status: 400 });
  });

  it('is linted, and is saved even if it has problems', async () => {
    const { id } = await createWorkflow();
    const body = draftOf(workflow([fn('A', 'return <b.c>'), fn('Lost', 'return 1')], ['Start -> A']));
    const response = await call<{ lint: { [list: string]: unknown } }>(
      'PUT',
      `/api/v2/workflows/${id}/state`,
      { body },
    );
    expect(response.status).toBe(200);
    const { lint } = response.data;
    expect(lint['orphanBlocks']).toMatchObject([{ blockName: 'Lost' }]);
    expect(lint['unresolvedReferences']).toMatchObject([{ blockName: 'A', field: 'code', value: '<b.c>' }]);
    expect(lint['diagnostics']).toContainEqual(expect.objectContaining({ code: 'REFERENCE_UNKNOWN_BLOCK' }));
  });

  it('does not change in a dry run, which has the same response as the write', async () => {
    const { id } = await createWorkflow();
    const path = `/api/v2/workflows/${id}/state`;
    const draftBefore = await call('GET', path);
    const body = draftOf(GREETING);
    const dryRun = await call<object>('PUT', `${path}?dryRun=true`, { body });
    expect(await call('GET', path)).toMatchObject({ data: draftBefore.data });
    const auditEvents = await api.store.audit.listByResource(id);
    expect(auditEvents.map(({ action }) => action)).toEqual(['WORKFLOW_CREATED']);
    const writeResponse = await call('PUT', path, { body });
    expect({ ...dryRun.data, dryRun: false }).toEqual(writeResponse.data);
  });

  it('refuses ids of another workflow, even in a dry run', async () => {
    const body = draftOf(GREETING);
    const { id } = await createWorkflow();
    const { id: otherId } = await createWorkflow();
    await call('PUT', `/api/v2/workflows/${id}/state`, { body });
    for (const query of ['', '?dryRun=true']) {
      const response = await call('PUT', `/api/v2/workflows/${otherId}/state${query}`, { body });
      expect(response).toMatchObject({ status: 409, body: { error: { code: 'CONFLICT' } } });
    }
    expect(await call('PUT', `/api/v2/workflows/${id}/state`, { body })).toMatchObject({ status: 200 });
  });

  it('can use an id that another workflow no longer uses', async () => {
    const body = draftOf(GREETING);
    const { id } = await createWorkflow();
    const { id: otherId } = await createWorkflow();
    await call('PUT', `/api/v2/workflows/${id}/state`, { body });
    await call('PUT', `/api/v2/workflows/${id}/state`, { body: { blocks: {}, edges: [] } });
    expect(await call('PUT', `/api/v2/workflows/${otherId}/state`, { body })).toMatchObject({ status: 200 });
  });
});

describe('deployments', () => {
  it('warn about misspelled fields, invalid values and syntax errors, as drafts do', async () => {
    const { id } = await createWorkflow();
    const [s, f, w] = [`${id}-s`, `${id}-f`, `${id}-w`];
    const blocks = {
      [s]: { type: 'start_trigger', name: 'Start' },
      [f]: {
        type: 'function',
        name: 'Work',
        subBlocks: { code: { value: 'return (' }, langauge: { value: 'python' } },
      },
      [w]: { type: 'wait', name: 'Pause', subBlocks: { timeUnit: { value: 'fortnights' } } },
    };
    const edges = [
      { source: s, target: f },
      { source: f, target: w },
    ];
    const putResponse = await call<{
      lint: { diagnostics: { code: string; message: string }[]; codeIssues: object[] };
    }>('PUT', `/api/v2/workflows/${id}/state`, { body: { blocks, edges } });
    const { diagnostics, codeIssues } = putResponse.data.lint;
    expect(diagnostics.map(({ code }) => code).toSorted()).toEqual([
      'FIELD_UNKNOWN',
      'FIELD_VALUE',
      'SYNTAX_INVALID',
    ]);
    expect(codeIssues).toMatchObject([{ blockId: f, field: 'code', language: 'javascript' }]);
    const deployResponse = await call<{ warnings: string[] }>('POST', `/api/v2/workflows/${id}/deploy`, {
      body: {},
    });
    expect(deployResponse.data.warnings.toSorted()).toEqual(
      diagnostics.map(({ message }) => message).toSorted(),
    );
  });

  it('each create a version, and the newest version is live', async () => {
    const id = await api.deploy(GREETING);
    const secondDeployment = await call('POST', `/api/v2/workflows/${id}/deploy`, {
      body: { name: 'second' },
    });
    expect(secondDeployment).toMatchObject({
      status: 200,
      data: { id, isDeployed: true, version: 2, activeDeployment: { version: 2 }, warnings: [] },
    });
    const list = await call('GET', `/api/v2/workflows/${id}/versions`);
    expect(list.body).toMatchObject({
      data: [
        { version: 2, name: 'second', isActive: true, deployedBy: api.userId },
        { version: 1, name: null, isActive: false },
      ],
      nextCursor: null,
    });
    const firstPage = await call('GET', `/api/v2/workflows/${id}/versions?limit=1`);
    const { nextCursor } = firstPage.body as { nextCursor: string };
    const secondPage = await call('GET', `/api/v2/workflows/${id}/versions?limit=1&cursor=${nextCursor}`);
    expect(secondPage.body).toMatchObject({ data: [{ version: 1 }], nextCursor: null });
  });

  it('keep the graph of each version', async () => {
    const id = await api.deploy(GREETING);
    const draftBefore = await call('GET', `/api/v2/workflows/${id}/state`);
    await call('PUT', `/api/v2/workflows/${id}/state`, { body: { blocks: {}, edges: [] } });
    const version = await call('GET', `/api/v2/workflows/${id}/versions/1`);
    expect(version).toMatchObject({
      status: 200,
      data: { version: 1, isActive: true, state: draftBefore.data },
    });
    expect(await call('GET', `/api/v2/workflows/${id}/versions/2`)).toMatchObject({ status: 404 });
    expect(await call('GET', `/api/v2/workflows/${id}/versions/x`)).toMatchObject({ status: 400 });
  });

  it('show whether the draft runs differently from the live version', async () => {
    const id = await api.deploy(GREETING);
    const path = `/api/v2/workflows/${id}`;
    const detail = { id, isDeployed: true, isPublicApi: false };
    expect(await call('GET', `${path}/deployment`)).toMatchObject({
      data: { ...detail, needsRedeployment: false },
    });
    const { data } = await call<{ blocks: { [id: string]: { position: object } } }>('GET', `${path}/state`);
    for (const draftBlock of Object.values(data.blocks)) draftBlock.position = { x: 7, y: 7 };
    expect(await call('PUT', `${path}/state`, { body: data })).toMatchObject({
      data: { needsRedeployment: false },
    });
    const body = draftOf(GREETING);
    expect(await call('PUT', `${path}/state?dryRun=1`, { body })).toMatchObject({
      data: { needsRedeployment: false },
    });
    expect(await call('PUT', `${path}/state`, { body })).toMatchObject({ data: { needsRedeployment: true } });
    expect(await call('GET', `${path}/deployment`)).toMatchObject({ data: { needsRedeployment: true } });
  });

  it('are refused for a draft with errors, and nothing is recorded', async () => {
    const id = await api.createDraft(workflow([fn('A', 'return <b.c>')], ['Start -> A']));
    const response = await call('POST', `/api/v2/workflows/${id}/deploy`);
    expect(response).toMatchObject({
      status: 400,
      body: {
        error: { code: 'BAD_REQUEST', details: { diagnostics: [{ code: 'REFERENCE_UNKNOWN_BLOCK' }] } },
      },
    });
    expect(await call('GET', `/api/v2/workflows/${id}/versions`)).toMatchObject({ body: { data: [] } });
  });

  it('can be undone, and a version can be activated again', async () => {
    const id = await api.deploy(GREETING);
    const undeployResponse = await call('DELETE', `/api/v2/workflows/${id}/deploy`);
    expect(undeployResponse).toMatchObject({
      status: 200,
      data: { isDeployed: false, activeDeployment: null },
    });
    expect(await call('POST', `/api/v2/workflows/${id}/execute`, { body: {} })).toMatchObject({
      status: 403,
      body: { error: { details: { code: 'WORKFLOW_NOT_DEPLOYED' } } },
    });
    expect(await call('POST', `/api/v2/workflows/${id}/versions/7/activate`)).toMatchObject({ status: 404 });
    const response = await call('POST', `/api/v2/workflows/${id}/versions/1/activate`);
    expect(response).toMatchObject({
      status: 200,
      data: { isDeployed: true, activeDeployment: { version: 1 } },
    });
    expect(await call('POST', `/api/v2/workflows/${id}/execute`, { body: {} })).toMatchObject({
      status: 200,
    });
    const auditActions = (await api.store.audit.listByResource(id)).map(({ action }) => action);
    expect(auditActions.slice(-3)).toEqual([
      'WORKFLOW_DEPLOYED',
      'WORKFLOW_UNDEPLOYED',
      'WORKFLOW_VERSION_ACTIVATED',
    ]);
  });

  it('are the same in the response to a change and when they are read later', async () => {
    const id = await api.deploy(GREETING);
    const path = `/api/v2/workflows/${id}`;
    for (const change of ['deploy', 'deploy', 'versions/1/activate']) {
      const { data } = await call<object>('POST', `${path}/${change}`);
      const { latestDeploymentAttempt: attempt } = data as { latestDeploymentAttempt: { action: string } };
      expect(attempt.action).toBe(change === 'deploy' ? 'deploy' : 'activate');
      const { version: _version, ...state } = data as { version: number };
      expect(await call('GET', `${path}/deployment`)).toMatchObject({ data: state });
      const { deployedAt } = data as { deployedAt: string };
      expect(await call('GET', path)).toMatchObject({ data: { deployedAt } });
    }
  });

  it('run the version that was activated, not the newest', async () => {
    const replyWorkflow = (value: string) =>
      workflow(
        [block('Reply', 'response', { dataMode: 'json', data: `{"v": "${value}"}` })],
        ['Start -> Reply'],
      );
    const id = await api.deploy(replyWorkflow('one'));
    await call('PUT', `/api/v2/workflows/${id}/state`, { body: draftOf(replyWorkflow('two')) });
    await call('POST', `/api/v2/workflows/${id}/deploy`);
    const run = () => call('POST', `/api/v2/workflows/${id}/execute`, { body: {} });
    expect(await run()).toMatchObject({ data: { output: { data: { v: 'two' } } } });
    await call('POST', `/api/v2/workflows/${id}/versions/1/activate`);
    expect(await run()).toMatchObject({ data: { output: { data: { v: 'one' } } } });
  });

  it('refuse unknown properties of the request body', async () => {
    const id = await api.deploy(GREETING);
    const response = await call('POST', `/api/v2/workflows/${id}/versions/1/activate`, {
      body: { version: 1 },
    });
    expect(response).toMatchObject({
      status: 400,
      body: { error: { details: [{ code: 'unrecognized_keys', keys: ['version'] }] } },
    });
    expect(await call('DELETE', `/api/v2/workflows/${id}/deploy`, { body: { x: 1 } })).toMatchObject({
      status: 400,
    });
  });
});
