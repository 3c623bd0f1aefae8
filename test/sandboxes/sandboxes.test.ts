import { createEngine } from '@heddle/engine';
import { createImages, ImageError } from '@heddle/images';
import type { ImageBuilder, Images } from '@heddle/images';
import { openSandboxes, openServiceStore } from '@heddle/service';
import type { Sandboxes } from '@heddle/service';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { errorIn, tenantOptionsOf, createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { createFakeBuilder, createImageFolder } from '../support/images.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { block, workflow } from '../support/workflow.ts';

interface Sandbox {
  id: string;
  name: string;
  language: string;
  dependencies: string[];
  cliTools: string[];
  systemPackages: string[];
  buildStatus: string | null;
  errorCode: string | null;
  errorMessage: string | null;
  errorDetail: string | null;
  builtAt: string | null;
  createdAt: string;
  updatedAt: string;
}

type SandboxResponse = { status: number; headers: Headers; body: unknown; data: Sandbox };

interface SandboxesApi extends TestApi {
  sandboxes: Sandboxes;
  images: Images;
  builder: ImageBuilder & { calls: string[] };
  create(body?: object, key?: string): Promise<SandboxResponse>;
  patch(id: string, body?: object, key?: string): Promise<SandboxResponse>;
  remove(id: string, workspaceId?: string, key?: string): Promise<SandboxResponse>;
  show(id: string, workspaceId?: string, key?: string): Promise<SandboxResponse>;
  /** Waits until the build of the sandbox has this state. Returns the sandbox. */
  waitForState(id: string, state: string): Promise<Sandbox>;
}

async function setUp({
  url,
  builder = createFakeBuilder(),
  folder = createImageFolder(),
}: {
  url?: string | undefined;
  builder?: ImageBuilder & { calls: string[] };
  folder?: string;
}): Promise<SandboxesApi> {
  const secret = 'x'.repeat(32);
  const store = await openServiceStore(
    // A separate schema, because each service queues the unfinished builds of the previous service again.
    url === undefined ? {} : { postgres: { url, schema: `s${crypto.randomUUID()}` }, secret },
  );
  const images = createImages({ folder, builders: { javascript: builder } });
  const errors: unknown[] = [];
  const sandboxes = openSandboxes({
    store,
    openImageStore: async () => images,
    onError: (error) => errors.push(error),
  });
  onTestFinished(async () => {
    await images.close();
    await sandboxes.close();
    expect(errors).toEqual([]);
  });
  const engine = await createEngine({
    images: sandboxes.images,
    ...tenantOptionsOf(store),
  });
  const api = await createTestApi({
    ...{ engine, store, sandboxes },
    now: () => Date.parse('2026-01-01T00:00:00Z'),
  });
  const { workspaceId, key } = api;
  const pathOf = (id: string, workspace = workspaceId): string =>
    `/api/v2/sandboxes/${id}?workspaceId=${workspace}`;
  const show: SandboxesApi['show'] = (id, workspace, apiKey = key) =>
    api.call<Sandbox>('GET', pathOf(id, workspace), { key: apiKey });
  return {
    ...api,
    ...{ sandboxes, images, builder, show },
    create: (body = {}, apiKey = key) =>
      api.call<Sandbox>('POST', '/api/v2/sandboxes', {
        body: { workspaceId, name: 'tools', language: 'javascript', dependencies: ['alpha'], ...body },
        key: apiKey,
      }),
    patch: (id, body = {}, apiKey = key) =>
      api.call<Sandbox>('PATCH', `/api/v2/sandboxes/${id}`, { body: { workspaceId, ...body }, key: apiKey }),
    remove: (id, workspace, apiKey = key) =>
      api.call<Sandbox>('DELETE', pathOf(id, workspace), { key: apiKey }),
    waitForState: (id, state) =>
      vi.waitFor(async () => {
        const { data } = await show(id);
        expect(data.buildStatus).toBe(state);
        return data;
      }),
  };
}

/** Returns a builder that fails while `isBroken` is true. */
function createFailingBuilder(): ImageBuilder & { calls: string[]; isBroken: boolean } {
  const workingBuilder = createFakeBuilder();
  const builder = {
    ...workingBuilder,
    isBroken: true,
    resolve: async (...args: Parameters<ImageBuilder['resolve']>) => {
      if (!builder.isBroken) return workingBuilder.resolve(...args);
      args[1].log('the log of the installer');
      throw new ImageError('registry_unavailable', 'The registry does not answer.');
    },
  };
  return builder;
}

const STORE_NAMES = storesToTest('sandboxes');

describe.each(STORE_NAMES)('sandboxes on %s', (storeName) => {
  let url: string | undefined;
  beforeAll(async () => {
    url = storeName === 'postgres' ? await createPostgresDatabase() : undefined;
  });

  it('are created in canonical form and built', async () => {
    const api = await setUp({ url });
    const createResponse = await api.create({
      name: ' tools ',
      dependencies: ['beta', '# why', ' alpha ', 'beta', ''],
    });
    expect(createResponse.status).toBe(201);
    expect(createResponse.data).toMatchObject({
      name: 'tools',
      dependencies: ['alpha', 'beta'],
      errorCode: null,
    });
    expect(['pending', 'building']).toContain(createResponse.data.buildStatus);
    const builtSandbox = await api.waitForState(createResponse.data.id, 'ready');
    expect(builtSandbox.builtAt).toMatch(/^20\d\d-/);
    expect(Object.keys(builtSandbox).sort()).toEqual(
      [
        ...['id', 'name', 'language', 'dependencies', 'cliTools', 'systemPackages', 'buildStatus'],
        ...['errorCode', 'errorMessage', 'errorDetail', 'builtAt', 'createdAt', 'updatedAt'],
      ].sort(),
    );
  });

  it('without packages have no build', async () => {
    const api = await setUp({ url });
    const { data } = await api.create({ dependencies: ['# nothing'] });
    expect(data).toMatchObject({ buildStatus: null, dependencies: [], builtAt: null });
    expect(api.builder.calls).toEqual([]);
  });

  it('show why their build failed, and are built again when they are saved', async () => {
    const builder = createFailingBuilder();
    const api = await setUp({ url, builder });
    const { data } = await api.create();
    const failedSandbox = await api.waitForState(data.id, 'failed');
    expect(failedSandbox).toMatchObject({ errorCode: 'install_failed', builtAt: null });
    expect(failedSandbox.errorMessage).toContain('The registry does not answer.');
    expect(failedSandbox.errorDetail).toMatch(/^registry_unavailable\n/);
    builder.isBroken = false;
    const updateResponse = await api.patch(data.id, { dependencies: ['alpha'] });
    expect(updateResponse.data).toMatchObject({ errorCode: null, errorDetail: null });
    expect(updateResponse.data.buildStatus).not.toBe('failed');
    await api.waitForState(data.id, 'ready');
  });

  it('of two workspaces with the same packages share one build', async () => {
    const api = await setUp({ url });
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Other', api.userId);
    const dependencies = ['shared'];
    const firstResponse = await api.create({ dependencies });
    const secondResponse = await api.create({ workspaceId: otherWorkspaceId, dependencies });
    await api.waitForState(firstResponse.data.id, 'ready');
    expect((await api.show(secondResponse.data.id, otherWorkspaceId)).data.buildStatus).toBe('ready');
    expect(api.builder.calls).toEqual(['resolve', 'assemble']);
    await api.remove(firstResponse.data.id);
    expect((await api.show(secondResponse.data.id, otherWorkspaceId)).data.buildStatus).toBe('ready');
    await api.remove(secondResponse.data.id, otherWorkspaceId);
    expect(await api.images.list()).toEqual([]);
  });

  it('whose builds were interrupted are built by the next process', async () => {
    const databaseUrl = storeName === 'postgres' ? await createPostgresDatabase() : undefined;
    const folder = createImageFolder();
    const hangingBuilder = createFakeBuilder({
      resolve: (_spec, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
        }),
    });
    const api = await setUp({ url: databaseUrl, builder: hangingBuilder });
    const { data } = await api.create();
    await api.waitForState(data.id, 'building');
    const images = createImages({ folder, builders: { javascript: createFakeBuilder() } });
    const nextSandboxes = openSandboxes({
      store: api.store,
      openImageStore: async () => images,
      onError: (error) => expect.unreachable(String(error)),
    });
    await createTestApi({ engine: api.engine, store: api.store, sandboxes: nextSandboxes });
    await vi.waitFor(async () => expect(await images.list()).toMatchObject([{ state: 'ready' }]));
    await images.close();
    await nextSandboxes.close();
  });

  it('cannot be read or changed if the image store cannot be opened, except sandboxes without packages', async () => {
    const workingApi = await setUp({ url });
    const { data: builtSandbox } = await workingApi.create();
    await workingApi.waitForState(builtSandbox.id, 'ready');
    const { store, engine, key, workspaceId } = workingApi;
    const errors: unknown[] = [];
    const brokenSandboxes = openSandboxes({
      store,
      openImageStore: () => Promise.reject(new Error('no folder /secret/path')),
      onError: (error) => errors.push(error),
    });
    const api = await createTestApi({ engine, store, sandboxes: brokenSandboxes });
    const call = (method: string, path: string, body?: object) =>
      api.call<Sandbox>(method, `/api/v2/sandboxes${path}`, { key, ...(body && { body }) });
    const countAuditEvents = async () => (await store.audit.listByResource(builtSandbox.id)).length;
    const eventCountBefore = await countAuditEvents();
    errors.length = 0;
    const packages = { language: 'javascript', dependencies: ['alpha'] };
    const sandboxPath = `/${builtSandbox.id}?workspaceId=${workspaceId}`;
    for (const [method, path, body] of [
      ['POST', '', { workspaceId, name: 'new', ...packages }],
      ['PATCH', `/${builtSandbox.id}`, { workspaceId, name: 'changed' }],
      ['PATCH', `/${builtSandbox.id}`, { workspaceId, dependencies: [] }],
      ['DELETE', sandboxPath],
      ['GET', sandboxPath],
      ['GET', `?workspaceId=${workspaceId}`],
    ] as const) {
      const response = await call(method, path, body);
      expect([method, response.status, response.headers.get('retry-after')]).toEqual([method, 503, '5']);
      expect(errorIn(response.body)).toEqual({
        code: 'SERVICE_UNAVAILABLE',
        message: 'Packages cannot be used now: the image store of this server cannot be opened',
      });
    }
    expect(errors).toHaveLength(6);
    expect(await countAuditEvents()).toBe(eventCountBefore);
    expect((await workingApi.show(builtSandbox.id)).data).toMatchObject({
      name: 'tools',
      buildStatus: 'ready',
    });
    const createResponse = await call('POST', '', { workspaceId, name: 'empty', language: 'javascript' });
    expect(createResponse).toMatchObject({ status: 201, data: { buildStatus: null } });
    const update = { workspaceId, dependencies: ['alpha'] };
    expect((await call('PATCH', `/${createResponse.data.id}`, update)).status).toBe(503);
    expect((await call('GET', `/${createResponse.data.id}?workspaceId=${workspaceId}`)).data).toMatchObject({
      dependencies: [],
    });
    expect((await call('DELETE', `/${createResponse.data.id}?workspaceId=${workspaceId}`)).status).toBe(200);
  });

  it('have unique names in a workspace, when they are created and renamed', async () => {
    const api = await setUp({ url });
    const firstResponse = await api.create();
    const duplicateResponse = await api.create();
    expect(duplicateResponse.status).toBe(409);
    expect(errorIn(duplicateResponse.body).message).toBe(
      'A sandbox named "tools" already exists in this workspace',
    );
    const secondResponse = await api.create({ name: 'more' });
    expect((await api.patch(secondResponse.data.id, { name: 'tools' })).status).toBe(409);
    expect((await api.patch(firstResponse.data.id, { name: 'tools' })).status).toBe(200);
  });

  it('refuse invalid package lines and return their line numbers; refuse unknown and duplicate tools, and an update without a field', async () => {
    const api = await setUp({ url });
    const invalidResponse = await api.create({ dependencies: ['alpha', '', '--flag', 'git+https://x'] });
    expect(invalidResponse.status).toBe(400);
    expect(errorIn(invalidResponse.body).details).toMatchObject({
      issueField: 'dependencies',
      issues: [
        { line: 3, value: '--flag' },
        { line: 4, value: 'git+https://x' },
      ],
    });
    const systemPackagesResponse = await api.create({ systemPackages: ['a b'] });
    expect(errorIn(systemPackagesResponse.body).details).toMatchObject({ issueField: 'systemPackages' });
    const age = 'age@1.3.1-r1';
    for (const cliTools of [['none@1-r1'], [age, age]])
      expect((await api.create({ cliTools })).status).toBe(400);
    for (const body of [{ name: 'x'.repeat(65) }, { name: ' ' }, { language: 'ruby' }, { more: 1 }])
      expect((await api.create(body)).status).toBe(400);
    const { data } = await api.create();
    expect((await api.patch(data.id)).status).toBe(400);
    expect((await api.patch(data.id, { language: 'python', dependencies: ['@scope/x'] })).status).toBe(400);
  });

  it('keep fields that an update omits, and replace whole lists', async () => {
    const api = await setUp({ url });
    const { data } = await api.create({ dependencies: ['alpha', 'beta'] });
    expect((await api.patch(data.id, { name: 'renamed' })).data).toMatchObject({
      name: 'renamed',
      dependencies: ['alpha', 'beta'],
    });
    expect((await api.patch(data.id, { dependencies: ['gamma'] })).data).toMatchObject({
      name: 'renamed',
      dependencies: ['gamma'],
    });
    await api.waitForState(data.id, 'ready');
  });

  it('are changed by admins with personal keys, read by members and workspace keys, and hidden from other users', async () => {
    const api = await setUp({ url });
    const { data } = await api.create();
    const { store, workspaceId } = api;
    const createPersonalKey = async (role?: 'read' | 'write'): Promise<string> => {
      const userId = await store.workspaces.createUser({ email: `${crypto.randomUUID()}@x.test`, name: 'B' });
      if (role) await store.workspaces.setMember(workspaceId, userId, role);
      return (await store.keys.create({ userId }, 'x')).key;
    };
    const writerKey = await createPersonalKey('write');
    expect((await api.show(data.id, workspaceId, writerKey)).status).toBe(200);
    const patchResponse = await api.patch(data.id, { name: 'x' }, writerKey);
    expect(errorIn(patchResponse.body).details?.code).toBe('INSUFFICIENT_WORKSPACE_ROLE');
    expect((await api.remove(data.id, workspaceId, writerKey)).status).toBe(403);
    const { key } = await store.keys.create({ workspaceId }, 'workspace');
    expect((await api.show(data.id, workspaceId, key)).status).toBe(200);
    const createResponse = await api.create({ name: 'x' }, key);
    expect(errorIn(createResponse.body).details?.code).toBe('WORKSPACE_KEY_OPERATION_NOT_PERMITTED');
    const strangerKey = await createPersonalKey();
    expect((await api.show(data.id, workspaceId, strangerKey)).status).toBe(404);
    const otherWorkspaceId = await store.workspaces.createWorkspace('Other', api.userId);
    const foreignResponse = await api.show(data.id, otherWorkspaceId);
    expect([foreignResponse.status, errorIn(foreignResponse.body).message]).toEqual([
      404,
      'Sandbox not found',
    ]);
    expect((await api.remove(data.id, otherWorkspaceId)).status).toBe(404);
  });

  it('can be used only by functions of their workspace; ids of images are refused', async () => {
    const builder = createFailingBuilder();
    const api = await setUp({ url, builder });
    const { data } = await api.create();
    await api.waitForState(data.id, 'failed');
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Other', api.userId);
    const foreignSandbox = (
      await api.create({ workspaceId: otherWorkspaceId, name: 'theirs', dependencies: ['theirs'] })
    ).data;
    const [image] = await api.images.list();
    const executeWith = async (sandboxId: string): Promise<string> => {
      const code = block('Code', 'function', { code: 'return 1', sandboxId });
      const id = await api.deploy(workflow([code], ['Start -> Code']));
      return JSON.stringify((await api.call('POST', `/api/v2/workflows/${id}/execute`, { body: {} })).body);
    };
    expect(await executeWith(data.id)).toContain(
      'The sandbox \\"tools\\" could not be built (registry_unavailable)',
    );
    expect(await executeWith(foreignSandbox.id)).toContain('There is no sandbox');
    expect(await executeWith(image?.id ?? '')).toContain('There is no sandbox');
    builder.isBroken = false;
    await api.patch(data.id, { dependencies: ['alpha'] });
    await api.waitForState(data.id, 'ready');
    const openedImage = await api.sandboxes.images.open(data.id, api.workspaceId);
    expect(openedImage).toMatchObject({ language: 'javascript', features: { modules: ['alpha'] } });
    await expect(api.sandboxes.images.open(data.id, otherWorkspaceId)).rejects.toMatchObject({
      code: 'IMAGE_NOT_FOUND',
    });
    await api.remove(data.id);
    await expect(api.sandboxes.images.open(data.id, api.workspaceId)).rejects.toMatchObject({
      code: 'IMAGE_NOT_FOUND',
    });
  });

  it('are listed in pages, searched and sorted', async () => {
    const api = await setUp({ url });
    for (const name of ['b', 'a', 'c_1', 'cx1']) await api.create({ name, dependencies: [] });
    const list = async (query: object): Promise<{ data: Sandbox[]; nextCursor: string | null }> => {
      const search = new URLSearchParams({ workspaceId: api.workspaceId, ...query }).toString();
      return (await api.call('GET', `/api/v2/sandboxes?${search}`)).body as never;
    };
    const namesOf = (page: { data: Sandbox[] }): string[] => page.data.map((sandbox) => sandbox.name);
    const firstPage = await list({ limit: 3 });
    expect(namesOf(firstPage)).toEqual(['a', 'b', 'c_1']);
    const secondPage = await list({ limit: 3, cursor: firstPage.nextCursor });
    expect([namesOf(secondPage), secondPage.nextCursor]).toEqual([['cx1'], null]);
    expect(namesOf(await list({ search: 'C_' }))).toEqual(['c_1']);
    expect(namesOf(await list({ sortOrder: 'desc' }))).toEqual(['cx1', 'c_1', 'b', 'a']);
  });

  it('have a rate limit for each workspace: after 20 changes, the next change gets status 429', async () => {
    const api = await setUp({ url });
    for (let index = 0; index < 20; index++)
      expect((await api.create({ name: `s${index}`, dependencies: [] })).status).toBe(201);
    const response = await api.create({ name: 'more', dependencies: [] });
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('6');
    expect(errorIn(response.body)).toMatchObject({ details: { retryAfter: 6 } });
  });

  it('record who created, changed and deleted them, and do not record refusals', async () => {
    const api = await setUp({ url });
    const { data } = await api.create({ dependencies: [] });
    await api.create({ dependencies: [] });
    await api.patch(data.id, { name: 'x' });
    await api.patch(data.id, {});
    await api.remove(data.id);
    await api.remove(data.id);
    const events = await api.store.audit.listByResource(data.id);
    expect(events.map(({ action }) => action).sort()).toEqual([
      'SANDBOX_CREATED',
      'SANDBOX_DELETED',
      'SANDBOX_UPDATED',
    ]);
  });
});
