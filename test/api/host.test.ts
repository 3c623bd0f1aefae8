import { readFileSync } from 'node:fs';
import { createApi, execute, runs } from '@heddle/api';
import type { Area } from '@heddle/api';
import {
  AUTHENTICATED_PRINCIPALS,
  noResource,
  noQuery,
  operationsOf,
  organization,
  areaResource,
} from '@heddle/api/areas';
import type { Access, Definition } from '@heddle/api/ports';
import { createEngine } from '@heddle/engine';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { hostApi } from '../../examples/host/host.ts';
import { ratings } from '../../examples/host/ratings.ts';
import { testApi } from '../support/api.ts';
import { GREETING, LONG } from '../support/api-workflows.ts';
import { block, workflow } from '../support/workflow.ts';

const BASE = 'http://host.test/internal/heddle';

describe('a host with its own workflows, sessions and roles', () => {
  const workflows = new Map<string, Definition>();
  let host: Awaited<ReturnType<typeof hostApi>>;

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
    host = await hostApi(workflows, { ada: 'owner', eve: 'guest' });
    const calling = workflow([block('Call', 'workflow', { workflowId: 'theirs' })], ['Start -> Call']);
    const workflowExports = { greeting: GREETING, long: LONG, calling, theirs: GREETING };
    for (const [id, each] of Object.entries(workflowExports)) {
      const exported = { ...(each as object), workflow: { id, name: id } };
      const { version } = await host.engine.deploy(exported);
      workflows.set(id, { id, workspaceId: id === 'theirs' ? 'dyers' : 'looms', live: version });
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
    const ran = await send('POST', '/api/v2/workflows/greeting/execute', 'eve', { input: { name: 'Eve' } });
    expect(ran).toMatchObject({ status: 200, body: { data: { output: { data: { hello: 'Eve' } } } } });
    const path = `/api/v2/workflows/greeting/runs/${ran.body.data.runId}`;
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
      Object.values(path).map((each) => each.operationId),
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
    const api = await testApi({ areas: [ratings()] });
    const id = await api.deploy(GREETING);
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
      [id]: operationsOf<object>()({
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
  const fixed = createEchoArea('fixed', 'own', z.strictObject({ place }));
  const parameterized = createEchoArea(
    'parameterized',
    '{part}',
    z.strictObject({ place, part: z.string() }),
  );
  for (const areas of [
    [fixed, parameterized],
    [parameterized, fixed],
  ]) {
    const { call } = await testApi({ areas });
    expect(await call('GET', '/api/v2/places/here/own')).toMatchObject({ data: 'fixed' });
    expect(await call('GET', '/api/v2/places/here/other')).toMatchObject({ data: 'parameterized' });
  }
});

it('a resource of several workspaces is concealed from callers without access to all of them', async () => {
  const linkArea: Area = {
    name: 'links',
    operations: {
      readLink: operationsOf<object>()({
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
  const { call, store, workspaceId, userId } = await testApi({ areas: [linkArea] });
  const mine = await store.workspaces.createWorkspace('Mine', userId);
  const eve = await store.workspaces.createUser({ email: 'eve@heddle.test', name: 'Eve' });
  const foreign = await store.workspaces.createWorkspace('Foreign', eve);
  const statusOf = async (from: string, to: string) =>
    (await call('GET', `/api/v2/links/${from}/${to}`)).status;
  expect(await statusOf(workspaceId, mine)).toBe(200);
  expect([await statusOf(workspaceId, foreign), await statusOf(foreign, mine)]).toEqual([404, 404]);
  // A key of one workspace has no access to the other workspace.
  const { key } = await store.keys.create({ workspaceId }, 'of one workspace');
  const response = await call('GET', `/api/v2/links/${workspaceId}/${mine}`, { key });
  expect(response).toMatchObject({ status: 404, body: { error: { message: 'Link not found' } } });
});

describe('an operation on an organization', () => {
  const createOrganizationArea = (changes: object = {}): Area => ({
    name: 'organizations',
    operations: {
      readOrganization: operationsOf<object>()({
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
  const access = (storeAccess: Access): Access => ({
    check: (...args) => storeAccess.check(...args),
    checkOrganization,
  });

  it('checks the role with the access port of the host, conceals other organizations, and refuses workspace keys', async () => {
    const { call, store, workspaceId } = await testApi({ areas: [createOrganizationArea()], access });
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
    const linked = areaResource('Link', ({ path }) => {
      const { organizationId: id } = path as { organizationId: string };
      return Promise.resolve({ value: id, workspaceIds: [orgApi.workspaceId], organizationIds: [id] });
    });
    const orgApi = await testApi({
      areas: [createOrganizationArea({ resource: linked, role: 'read' })],
      access,
    });
    expect((await orgApi.call('GET', '/api/v2/organizations/mine')).status).toBe(200);
    expect((await orgApi.call('GET', '/api/v2/organizations/guild')).status).toBe(404);
    const { key } = await orgApi.store.keys.create({ workspaceId: orgApi.workspaceId }, 'of the workspace');
    expect((await orgApi.call('GET', '/api/v2/organizations/mine', { key })).status).toBe(403);
  });

  it('needs an access port with checkOrganization, and must not permit workspace keys', async () => {
    await expect(testApi({ areas: [createOrganizationArea()] })).rejects.toThrow(
      'The operation readOrganization acts on an organization: the port `access` needs `checkOrganization`.',
    );
    const rejected = testApi({
      areas: [createOrganizationArea({ principals: AUTHENTICATED_PRINCIPALS, role: 'read' })],
      access,
    });
    await expect(rejected).rejects.toThrow(/a workspace key has no access to organizations/);
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

  async function tryCreate(
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
    expect(await tryCreate([execute()], false)).toMatch(/^The engine lets workflows call/);
    expect(await tryCreate([execute()])).toBe('created');
  });

  it('areas with the same name, and areas with the same function', async () => {
    expect(await tryCreate([execute(), execute()])).toBe('Two areas have the name "execute".');
    const other = { ...runs(), name: 'other' };
    expect(await tryCreate([runs(), other])).toBe('Two areas have the function "listWorkflowRuns".');
  });

  it('an area with tables on a host without a database', async () => {
    expect(await tryCreate([ratings()])).toBe('The area "ratings" has tables: createApi needs a database.');
  });

  it('an area that cannot be opened, and closes the areas opened before it', async () => {
    const closed: string[] = [];
    const first: Area = { ...execute(), close: () => void closed.push('execute') };
    const second: Area = {
      name: 'second',
      operations: {},
      services: () => Promise.reject(new Error('no disk')),
    };
    expect(await tryCreate([first, second])).toBe('no disk');
    expect(closed).toEqual(['execute']);
  });

  it('an operation whose declaration contradicts itself', async () => {
    const { executeWorkflow } = execute().operations;
    const withOverrides = (overrides: object): Area => ({
      ...execute(),
      operations: { executeWorkflow: { ...executeWorkflow, ...overrides } },
    });
    expect(await tryCreate([withOverrides({ role: 'admin' })])).toMatch(/can never have the role admin/);
    expect(await tryCreate([withOverrides({ principals: [] })])).toMatch(/no principal may call it/);
    expect(await tryCreate([withOverrides({ audit: { resourceType: 'run', actions: [] } })])).toMatch(
      /without an action/,
    );
  });

  it('a base path that ends with a slash', async () => {
    expect(await tryCreate([execute()], true, '/heddle/')).toMatch(/^The base path "\/heddle\/"/);
  });
});
