import { readFileSync } from 'node:fs';
import { createApi, execute, runs } from '@heddle/api';
import type { Area } from '@heddle/api';
import {
  AUTHENTICATED_PRINCIPALS,
  noResource,
  noQuery,
  operationFactory,
  organization,
  areaResource,
} from '@heddle/api/areas';
import type { Access, Definition } from '@heddle/api/ports';
import { createEngine } from '@heddle/engine';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createHostApi } from '../../examples/host/host.ts';
import { ratings } from '../../examples/host/ratings.ts';
import { createTestApi } from '../support/api.ts';
import { GREETING_WORKFLOW, LONG_WORKFLOW } from '../support/api-workflows.ts';
import { block, workflow } from '../support/workflow.ts';

const BASE = 'http://host.test/internal/heddle';

describe('a host with its own workflows, sessions and roles', () => {
  const workflows = new Map<string, Definition>();
  let host: Awaited<ReturnType<typeof createHostApi>>;

  async function send(method: string, path: string, person: string | null, body?: object) {
    const headers = {
      'Content-Type': 'application/json',
      ...(person !== null && { Cookie: `session=${person}` }),
    };
    const request = new Request(BASE + path, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const response = await host.api.fetch(request);
    return { status: response.status, body: (await response.json()) as { data: { runId: string } } };
  }

  beforeAll(async () => {
    host = await createHostApi(workflows, { ada: 'owner', eve: 'guest' });
    const callingWorkflow = workflow(
      [block('Call', 'workflow', { workflowId: 'theirs' })],
      ['Start -> Call'],
    );
    const workflowExports = {
      greeting: GREETING_WORKFLOW,
      long: LONG_WORKFLOW,
      calling: callingWorkflow,
      theirs: GREETING_WORKFLOW,
    };
    for (const [id, workflowExport] of Object.entries(workflowExports)) {
      const definition = { ...(workflowExport as object), workflow: { id, name: id } };
      const { version } = await host.engine.deploy(definition);
      workflows.set(id, { id, workspaceId: id === 'theirs' ? 'dyers' : 'looms', liveVersion: version });
    }
  });
  afterAll(async () => {
    await host.api.close();
    await host.engine.close({ graceMs: 0 });
  });

  it('needs fewer than 40 lines', () => {
    const lines = readFileSync(new URL('../../examples/host/host.ts', import.meta.url), 'utf8')
      .trim()
      .split('\n');
    expect(lines.length).toBeLessThan(40);
  });

  it('runs its workflows for its sessions, under its own base path', async () => {
    const response = await send('POST', '/api/v2/workflows/greeting/execute', 'eve', {
      input: { name: 'Eve' },
    });
    expect(response).toMatchObject({ status: 200, body: { data: { output: { data: { hello: 'Eve' } } } } });
    const path = `/api/v2/workflows/greeting/runs/${response.body.data.runId}`;
    expect(await send('GET', path, 'ada')).toMatchObject({
      status: 200,
      body: { data: { status: 'completed' } },
    });
    expect((await host.api.fetch(new Request(`http://host.test${path}`))).status).toBe(404);
  });

  it('maps the roles of the service to its own roles', async () => {
    const path = '/api/v2/workflows/greeting/runs/unknown/cancel';
    expect(await send('POST', path, 'eve')).toMatchObject({ status: 403 });
    expect(await send('POST', path, 'ada')).toMatchObject({
      status: 404,
      body: { error: { message: 'Run not found' } },
    });
    expect(await send('POST', '/api/v2/workflows/greeting/execute', 'bob', {})).toMatchObject({
      status: 404,
    });
    expect(await send('POST', '/api/v2/workflows/theirs/execute', 'ada', {})).toMatchObject({ status: 404 });
    expect(await send('POST', '/api/v2/workflows/greeting/execute', null, {})).toMatchObject({ status: 401 });
  });

  it('cannot call a child workflow of another workspace', async () => {
    expect(await send('POST', '/api/v2/workflows/calling/execute', 'ada', {})).toMatchObject({
      body: { data: { status: 'failed', error: { details: { reason: 'CHILD_NOT_FOUND' } } } },
    });
  });

  it('refuses drafts and queued runs, which its ports do not support', async () => {
    const path = '/api/v2/workflows/greeting/execute';
    expect(await send('POST', path, 'ada', { run: { source: 'manual' } })).toMatchObject({ status: 404 });
    expect(await send('POST', path, 'ada', { async: true })).toMatchObject({ status: 400 });
  });

  it('has only its selected operations', async () => {
    const document = (await (await host.api.fetch(new Request(`${BASE}/openapi.json`))).json()) as {
      paths: { [path: string]: { [method: string]: { operationId: string } } };
      servers: object[];
    };
    const ids = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map((operation) => operation.operationId),
    );
    expect(ids.toSorted()).toEqual(['cancelRunV2', 'executeWorkflowV2', 'getWorkflowRunV2']);
    expect(document.servers).toEqual([{ url: BASE }]);
    expect(Object.keys(host.api.operations).toSorted()).toEqual([
      'cancelRun',
      'executeWorkflow',
      'getWorkflowRun',
    ]);
    expect(await send('GET', '/api/v2/workflows/greeting/runs', 'ada')).toMatchObject({ status: 404 });
  });
});

describe('an area (a module of API operations) of a host', () => {
  it('has its own table, in the same database and transaction as the other areas', async () => {
    const api = await createTestApi({ areas: [ratings()] });
    const id = await api.deploy(GREETING_WORKFLOW);
    const path = `/api/v2/workflows/${id}/rating`;
    expect(await api.call('PUT', path, { body: { stars: 4 } })).toMatchObject({
      status: 200,
      data: { stars: 4 },
    });
    expect(await api.call('PUT', path, { body: { stars: 6 } })).toMatchObject({ status: 400 });
    expect(await api.call('PUT', path, { body: { stars: 5 }, key: null })).toMatchObject({ status: 401 });
    const events = (await api.store.audit.listByResource(id)).filter(
      ({ action }) => action === 'WORKFLOW_RATED',
    );
    expect(events).toMatchObject([{ details: '{"stars":4}', workspace_id: api.workspaceId }]);
    expect(api.api.openApi('')).toMatchObject({ paths: { '/api/v2/workflows/{workflowId}/rating': {} } });
  });
});

it('the most specific route handles a request, regardless of the order of the areas', async () => {
  const createEchoArea = (id: string, lastSegment: string, params: z.ZodObject): Area => ({
    name: id,
    operations: {
      [id]: operationFactory<object>()({
        id,
        method: 'GET',
        path: `/api/v2/places/{place}/${lastSegment}`,
        tag: 'Places',
        summary: id,
        principals: AUTHENTICATED_PRINCIPALS,
        scope: 'api:read',
        role: 'read',
        resource: noResource,
        params,
        query: noQuery,
        success: [{ status: 200, schema: z.string(), description: 'The id' }],
        errors: [400, 401, 403, 404, 429],
        handle: () => Promise.resolve({ data: id }),
      }),
    },
    services: () => ({}),
  });
  const place = z.string();
  const fixedArea = createEchoArea('fixed', 'own', z.strictObject({ place }));
  const parameterizedArea = createEchoArea(
    'parameterized',
    '{part}',
    z.strictObject({ place, part: z.string() }),
  );
  for (const areas of [
    [fixedArea, parameterizedArea],
    [parameterizedArea, fixedArea],
  ]) {
    const { call } = await createTestApi({ areas });
    expect(await call('GET', '/api/v2/places/here/own')).toMatchObject({ data: 'fixed' });
    expect(await call('GET', '/api/v2/places/here/other')).toMatchObject({ data: 'parameterized' });
  }
});

it('a resource of several workspaces is concealed from callers without access to all of them', async () => {
  const linkArea: Area = {
    name: 'links',
    operations: {
      readLink: operationFactory<object>()({
        id: 'readLink',
        method: 'GET',
        path: '/api/v2/links/{from}/{to}',
        tag: 'Links',
        summary: 'Read',
        principals: AUTHENTICATED_PRINCIPALS,
        scope: 'api:read',
        role: 'read',
        query: noQuery,
        params: z.strictObject({ from: z.string(), to: z.string() }),
        resource: areaResource('Link', ({ path }) => {
          const { from, to } = path as { from: string; to: string };
          return Promise.resolve({ value: { from, to }, workspaceIds: [from, to] });
        }),
        success: [{ status: 200, schema: z.unknown(), description: 'Both workspaces' }],
        errors: [400, 401, 403, 404, 429],
        handle: (_services, _call, value) => Promise.resolve({ data: value }),
      }),
    },
    services: () => ({}),
  };
  const { call, store, workspaceId, userId } = await createTestApi({ areas: [linkArea] });
  const ownWorkspaceId = await store.workspaces.createWorkspace('Mine', userId);
  const eveId = await store.workspaces.createUser({ email: 'eve@heddle.test', name: 'Eve' });
  const foreignWorkspaceId = await store.workspaces.createWorkspace('Foreign', eveId);
  const statusOf = async (from: string, to: string) =>
    (await call('GET', `/api/v2/links/${from}/${to}`)).status;
  expect(await statusOf(workspaceId, ownWorkspaceId)).toBe(200);
  expect([
    await statusOf(workspaceId, foreignWorkspaceId),
    await statusOf(foreignWorkspaceId, ownWorkspaceId),
  ]).toEqual([404, 404]);
  // A key of one workspace has no access to the other workspace.
  const { key } = await store.keys.create({ workspaceId }, 'of one workspace');
  const response = await call('GET', `/api/v2/links/${workspaceId}/${ownWorkspaceId}`, { key });
  expect(response).toMatchObject({ status: 404, body: { error: { message: 'Link not found' } } });
});

describe('an operation on an organization', () => {
  const createOrganizationArea = (changes: object = {}): Area => ({
    name: 'organizations',
    operations: {
      readOrganization: operationFactory<object>()({
        id: 'readOrganization',
        method: 'GET',
        path: '/api/v2/organizations/{organizationId}',
        tag: 'Organizations',
        summary: 'Read',
        scope: 'api:read',
        role: 'admin',
        query: noQuery,
        principals: ['personal', 'oauth', 'session'],
        params: z.strictObject({ organizationId: z.string() }),
        resource: organization('path'),
        success: [{ status: 200, schema: z.string(), description: 'The id' }],
        errors: [400, 401, 403, 404, 429],
        handle: (_services, _call, value) => Promise.resolve({ data: value }),
        ...changes,
      }),
    },
    services: () => ({}),
  });
  /** Every caller can see `guild`, and is an admin of `mine`. */
  const checkOrganization: Access['checkOrganization'] = (_principal, id, role) => {
    if (id === 'mine') return Promise.resolve('granted');
    return Promise.resolve(id === 'guild' && role === 'admin' ? 'ORGANIZATION_ADMIN_REQUIRED' : 'concealed');
  };
  const addOrganizationCheck = (storeAccess: Access): Access => ({
    check: (...args) => storeAccess.check(...args),
    checkOrganization,
  });

  it('checks the role with the access port of the host, conceals other organizations, and refuses workspace keys', async () => {
    const { call, store, workspaceId } = await createTestApi({
      areas: [createOrganizationArea()],
      wrapAccess: addOrganizationCheck,
    });
    const { key } = await store.keys.create({ workspaceId }, 'of a workspace');
    const getOrganization = (id: string, apiKey?: string) =>
      call('GET', `/api/v2/organizations/${id}`, apiKey === undefined ? {} : { key: apiKey });
    expect(await getOrganization('mine')).toMatchObject({ status: 200, data: 'mine' });
    expect(await getOrganization('guild')).toMatchObject({
      status: 403,
      body: { error: { details: { code: 'ORGANIZATION_ADMIN_REQUIRED' } } },
    });
    expect(await getOrganization('foreign')).toMatchObject({
      status: 404,
      body: { error: { message: 'Organization not found' } },
    });
    const refusal = { error: { details: { code: 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED' } } };
    for (const id of ['mine', 'guild', 'foreign'])
      expect(await getOrganization(id, key)).toMatchObject({ status: 403, body: refusal });
  });

  it('also needs access to all workspaces of its resource', async () => {
    const linkedResource = areaResource('Link', ({ path }) => {
      const { organizationId: id } = path as { organizationId: string };
      return Promise.resolve({ value: id, workspaceIds: [orgApi.workspaceId], organizationIds: [id] });
    });
    const orgApi = await createTestApi({
      areas: [createOrganizationArea({ resource: linkedResource, role: 'read' })],
      wrapAccess: addOrganizationCheck,
    });
    expect((await orgApi.call('GET', '/api/v2/organizations/mine')).status).toBe(200);
    expect((await orgApi.call('GET', '/api/v2/organizations/guild')).status).toBe(404);
    const { key } = await orgApi.store.keys.create({ workspaceId: orgApi.workspaceId }, 'of the workspace');
    expect((await orgApi.call('GET', '/api/v2/organizations/mine', { key })).status).toBe(403);
  });

  it('needs an access port with checkOrganization, and must not permit workspace keys', async () => {
    await expect(createTestApi({ areas: [createOrganizationArea()] })).rejects.toThrow(
      'The operation readOrganization acts on an organization: the port `access` needs `checkOrganization`.',
    );
    const creation = createTestApi({
      areas: [createOrganizationArea({ principals: AUTHENTICATED_PRINCIPALS, role: 'read' })],
      wrapAccess: addOrganizationCheck,
    });
    await expect(creation).rejects.toThrow(/a workspace key has no access to organizations/);
  });
});

describe('createApi refuses', () => {
  const ports = {
    definitions: {
      find: () => Promise.resolve(undefined),
      resolveChild: () => Promise.resolve(undefined),
      tenant: () => Promise.resolve(undefined),
    },
    access: { check: () => Promise.resolve('granted' as const) },
  };
  const authenticator = { authenticate: () => Promise.resolve(undefined) };

  async function tryCreateApi(
    areas: readonly Area[],
    separatesWorkspaces = true,
    basePath = '',
  ): Promise<string> {
    const { resolveChild, tenant } = ports.definitions;
    const engine = await createEngine(separatesWorkspaces ? { resolveChild, tenant } : {});
    try {
      await createApi({ engine, ports, authenticator, areas, basePath });
      return 'created';
    } catch (error) {
      return (error as Error).message;
    } finally {
      await engine.close({ graceMs: 0 });
    }
  }

  it('an engine that lets workflows call workflows of other workspaces', async () => {
    expect(await tryCreateApi([execute()], false)).toMatch(/^The engine lets workflows call/);
    expect(await tryCreateApi([execute()])).toBe('created');
  });

  it('areas with the same name, and areas with the same function', async () => {
    expect(await tryCreateApi([execute(), execute()])).toBe('Two areas have the name "execute".');
    const otherArea = { ...runs(), name: 'other' };
    expect(await tryCreateApi([runs(), otherArea])).toBe('Two areas have the function "listWorkflowRuns".');
  });

  it('an area with tables on a host without a database', async () => {
    expect(await tryCreateApi([ratings()])).toBe(
      'The area "ratings" has tables: createApi needs a database.',
    );
  });

  it('an area that cannot be opened, and closes the areas opened before it', async () => {
    const closedAreas: string[] = [];
    const firstArea: Area = { ...execute(), close: () => void closedAreas.push('execute') };
    const secondArea: Area = {
      name: 'second',
      operations: {},
      services: () => Promise.reject(new Error('no disk')),
    };
    expect(await tryCreateApi([firstArea, secondArea])).toBe('no disk');
    expect(closedAreas).toEqual(['execute']);
  });

  it('an operation whose declaration contradicts itself', async () => {
    const { executeWorkflow } = execute().operations;
    const areaWithOverrides = (overrides: object): Area => ({
      ...execute(),
      operations: { executeWorkflow: { ...executeWorkflow, ...overrides } },
    });
    expect(await tryCreateApi([areaWithOverrides({ role: 'admin' })])).toMatch(
      /can never have the role admin/,
    );
    expect(await tryCreateApi([areaWithOverrides({ principals: [] })])).toMatch(/no principal may call it/);
    expect(await tryCreateApi([areaWithOverrides({ audit: { resourceType: 'run', actions: [] } })])).toMatch(
      /without an action/,
    );
  });

  it('a base path that ends with a slash', async () => {
    expect(await tryCreateApi([execute()], true, '/heddle/')).toMatch(/^The base path "\/heddle\/"/);
  });
});
