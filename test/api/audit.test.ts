import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { createRowCountingApi } from '../support/row-counting-api.ts';
import { SERVED_OPERATIONS } from '../support/served-operations.ts';
import { createAcceptedCalls } from './accepted-calls.ts';

const api = await createRowCountingApi();
const calls = await createAcceptedCalls(api);
const { database } = api.store;
// Updates the log of runs now. Otherwise a refused request would update it, and its rows would change.
await api.call('GET', `/api/v2/logs?workspaceId=${api.workspaceId}`);
await sql`create trigger no_audit before insert on audit begin select raise(abort, 'The audit is full.'); end`.execute(
  database,
);

const AUDITED_OPERATIONS = SERVED_OPERATIONS.filter(({ audit }) => audit).map(
  (operation) => [`${operation.method} ${operation.path}`, operation] as const,
);

/** Returns all rows of the tables to which operations of the service write. */
async function readTables(): Promise<object[]> {
  const tables = [
    ...['workflows', 'workflow_versions', 'workflow_folders', 'graph_ids', 'operation_receipts'],
    ...['secrets', 'credentials', 'sandboxes'],
  ];
  return Promise.all(
    tables.map(
      async (table) => (await sql`select * from ${sql.table(table)} order by 1, 2`.execute(database)).rows,
    ),
  );
}

describe('an audit event that cannot be recorded', () => {
  it.each(AUDITED_OPERATIONS)('prevents or rolls back %s', async (title, operation) => {
    const acceptedCall = calls[title];
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => acceptedCall?.path[name] ?? '');
    const query = new URLSearchParams(acceptedCall?.query).toString();
    const rowsBefore = await readTables();
    const response = await api.call(operation.method, query === '' ? path : `${path}?${query}`, {
      ...(acceptedCall?.body && { body: acceptedCall.body }),
    });
    const error = operation.legacy ? 'Internal server error' : { code: 'INTERNAL_ERROR' };
    expect([response.status, response.body]).toMatchObject([500, { error }]);
    expect(await readTables()).toEqual(rowsBefore);
  });
});
