import { sql } from 'kysely';
import { describe, expect, it, vi } from 'vitest';
import { errorIn } from '../support/api.ts';
import { overrideMethods } from '../support/override-methods.ts';
import { createRowCountingApi } from '../support/row-counting-api.ts';
import { SERVED_OPERATIONS } from '../support/served-operations.ts';
import { createAcceptedCalls } from './accepted-calls.ts';

const api = await createRowCountingApi();
const calls = await createAcceptedCalls(api);
const { workspaceId } = api;
const LOCKED_FOLDER = '/Locked';

// Only a host can lock a folder: no operation does.
await api.call('POST', '/api/v2/workflows/folders', { body: { workspaceId, path: LOCKED_FOLDER } });
await api.call('POST', '/api/v2/workflows/folders', { body: { workspaceId, path: `${LOCKED_FOLDER}/In` } });
const innerFolder = `${LOCKED_FOLDER}/In`;
await sql`update workflows set folder_path = ${innerFolder} where workspace_id = ${workspaceId}`.execute(
  api.store.database,
);

/** By operation id: the fields of the accepted request that are replaced so that it names the locked folder. */
const FOLDER_OVERRIDES: { [id: string]: { body?: object; query?: { [name: string]: string } } } = {
  createWorkflowV2: { body: { folderPath: innerFolder } },
  moveWorkflows: { body: { folderPath: innerFolder } },
  previewWorkflowImport: { body: { folderPath: innerFolder } },
  importWorkflow: { body: { folderPath: innerFolder } },
  createWorkflowsFolder: { body: { path: `${innerFolder}/made` } },
  relocateWorkflowsFolder: { body: { path: innerFolder } },
  deleteWorkflowsFolder: { query: { path: innerFolder } },
};

const WRITE_OPERATIONS = SERVED_OPERATIONS.filter(
  ({ tag, scope }) => tag === 'Workflows' && scope === 'api:write',
).map((operation) => [`${operation.method} ${operation.path}`, operation] as const);
const AUDITED_OPERATIONS = WRITE_OPERATIONS.filter(([, { audit }]) => audit !== undefined);

async function setLocked(locked: 0 | 1): Promise<void> {
  await sql`update workflow_folders set locked = ${locked} where path = ${LOCKED_FOLDER}`.execute(
    api.store.database,
  );
}

/** Makes the host lock the folder just before the next transaction, after the first check of a request. */
function lockBeforeNextTransaction(): void {
  const { database } = api.store;
  const beginTransaction = database.transaction.bind(database);
  vi.spyOn(database, 'transaction').mockImplementationOnce(() =>
    overrideMethods(beginTransaction(), {
      async execute(callback) {
        await setLocked(1);
        return beginTransaction().execute(callback);
      },
    }),
  );
}

async function expectLocked([title, operation]: (typeof WRITE_OPERATIONS)[number]): Promise<void> {
  const acceptedCall = calls[title];
  const { body, query } = FOLDER_OVERRIDES[operation.id] ?? {};
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => acceptedCall?.path[name] ?? '');
  const search = new URLSearchParams({ ...acceptedCall?.query, ...query }).toString();
  const rowCountsBefore = await api.waitForRowCounts();
  const response = await api.call(operation.method, `${path}?${search}`.replace(/\?$/, ''), {
    ...((acceptedCall?.body || body) && { body: { ...acceptedCall?.body, ...body } }),
  });
  expect([response.status, errorIn(response.body)]).toEqual([
    423,
    { code: 'LOCKED', message: `The folder "${LOCKED_FOLDER}" is locked`, details: { lock: 'folder' } },
  ]);
  expect(api.countRows()).toEqual(rowCountsBefore);
  expect(operation.errors).toContain(423);
}

describe('a folder that a host has locked', () => {
  it.each(WRITE_OPERATIONS)('refuses %s with 423, and nothing is recorded', async (...entry) => {
    await setLocked(1);
    await expectLocked(entry);
  });

  it.each(AUDITED_OPERATIONS)(
    'refuses %s with 423 if it is locked after the request was checked',
    async (...entry) => {
      await setLocked(0);
      lockBeforeNextTransaction();
      await expectLocked(entry);
    },
  );

  it('does not prevent runs, and is not visible to other workspaces', async () => {
    await setLocked(1);
    const { workflowId } = calls['POST /api/v2/workflows/{workflowId}/execute']!.path;
    const run = await api.call('POST', `/api/v2/workflows/${workflowId}/execute`, { body: { input: {} } });
    expect(run.status).toBe(200);
    const otherApi = await createRowCountingApi({ engine: api.engine, store: api.store });
    const response = await otherApi.call('POST', `/api/v2/workflows/${workflowId}/deploy`, { body: {} });
    expect(response.status).toBe(404);
  });
});
