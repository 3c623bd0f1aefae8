import { memoryConcurrency, memoryLimiter } from '@heddle/api';
import { createEngine } from '@heddle/engine';
import { openServiceStore } from '@heddle/service';
import type { ServiceStore } from '@heddle/service';
import { openSharedLimits } from '@heddle/service/access';
import { beforeAll, describe, onTestFinished } from 'vitest';
import { describeAccess } from '../conformance/ports/access.ts';
import { describeDefinitions } from '../conformance/ports/definitions.ts';
import { describeLimits } from '../conformance/ports/limits.ts';
import { draftOf, ORIGIN, tenantOptionsOf, createServiceApi } from '../support/api.ts';
import { GREETING_WORKFLOW } from '../support/api-workflows.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';

const SECRET = 'x'.repeat(32);

/** Returns a function that sends requests to an API on the store as the user. */
async function createCaller(store: ServiceStore, userId: string) {
  const engine = await createEngine(tenantOptionsOf(store));
  const api = await createServiceApi({ engine, store });
  onTestFinished(async () => {
    await api.close();
    await engine.close({ graceMs: 0 });
  });
  const { key } = await store.keys.create({ userId }, 'test');
  return async (method: string, path: string, body?: object): Promise<{ id: string }> => {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await api.fetch(new Request(ORIGIN + path, init));
    const { data, error } = (await response.json()) as { data: { id: string }; error?: object };
    if (error) throw new Error(JSON.stringify(error));
    return data;
  };
}

/** Tests the interfaces (ports) that a service store implements. `open` opens an empty store. */
function describePorts(name: string, open: () => Promise<ServiceStore>): void {
  async function openStore() {
    const store = await open();
    onTestFinished(() => store.close());
    const { workspaces } = store;
    const userId = await workspaces.createUser({ email: 'ada@heddle.test', name: 'Ada' });
    const workspaceIds = [
      await workspaces.createWorkspace('Looms', userId),
      await workspaces.createWorkspace('Dyers', userId),
    ] as const;
    return { store, userId, workspaceIds };
  }

  describeAccess(name, async () => {
    const { store, workspaceIds } = await openStore();
    let userCount = 0;
    return {
      access: store.workspaces,
      workspaceIds,
      async addUser(workspaceId, role) {
        const email = `${(userCount += 1)}@heddle.test`;
        const id = await store.workspaces.createUser({ email, name: 'Bob' });
        if (role) await store.workspaces.setMember(workspaceId, id, role);
        return id;
      },
    };
  });

  describeDefinitions(name, async () => {
    const { store, userId, workspaceIds } = await openStore();
    const call = await createCaller(store, userId);
    return {
      definitions: store.definitions,
      workspaceIds,
      async define({ workspaceId, name: workflowName, isDeployed, isPublic, isArchived }) {
        const { id } = await call('POST', '/api/v2/workflows', { workspaceId, name: workflowName });
        const path = `/api/v2/workflows/${id}`;
        await call('PUT', `${path}/state`, draftOf(GREETING_WORKFLOW) as object);
        if (isDeployed) await call('POST', `${path}/deploy`);
        if (isPublic) await call('PATCH', `${path}/deployment`, { isPublicApi: true });
        if (isArchived) await call('DELETE', path);
        return id;
      },
    };
  });
}

describePorts('in memory', () => openServiceStore());

describeLimits('in memory', async ({ buckets, concurrency }) => ({
  limiter: memoryLimiter(buckets),
  concurrency: memoryConcurrency(concurrency),
}));

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  let url = '';
  beforeAll(async () => {
    url = await createPostgresDatabase();
  });
  const createSchemaName = (): string => `s${crypto.randomUUID()}`;

  describePorts('PostgreSQL', () =>
    openServiceStore({ postgres: { url, schema: createSchemaName() }, secret: SECRET }),
  );

  describeLimits('PostgreSQL', async (limits) => {
    const onError = (error: unknown): void => {
      throw error;
    };
    // Many concurrent checks wait for four connections.
    const timeoutMs = 60_000;
    const sharedLimits = await openSharedLimits({
      url,
      schema: createSchemaName(),
      ...limits,
      timeoutMs,
      onError,
    });
    onTestFinished(() => sharedLimits.close());
    return sharedLimits;
  });
});
