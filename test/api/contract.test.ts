import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SERVED_OPERATIONS } from '../support/served-operations.ts';

/**
 * The required declarations of each served operation. They are hand-written, not derived from the operations:
 * copied from the specification, or decided by us for operations that only Heddle has.
 */
const CONTRACT_URL = new URL('contract.tsv', import.meta.url);

it('every operation has a row in the contract, and declares what the row says', () => {
  const [, ...rows] = readFileSync(CONTRACT_URL, 'utf8').trimEnd().split('\n');
  const declaredRows = SERVED_OPERATIONS.map(
    ({ id, method, path, scope, role, principals, success, audit }) => {
      const allowsKeys = principals.includes('workspace') ? 'yes' : 'no';
      // A stream or a file has no schema.
      const statuses = success.length === 0 ? '200' : success.map(({ status }) => status).join(',');
      return [id, method, path, scope, role, allowsKeys, statuses, audit ? 'yes' : 'no'].join('\t');
    },
  );
  expect(declaredRows.toSorted()).toEqual(rows.toSorted());
});
