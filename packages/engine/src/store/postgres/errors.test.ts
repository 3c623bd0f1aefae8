import { expect, it } from 'vitest';
import { databaseError, isRetryable } from './errors.ts';

const LOCATION = { host: 'h', port: 5432, database: 'd', user: 'u', schema: 's' };

function clientError(code: string | undefined, message = 'x'): Error {
  return Object.assign(new Error(message), code !== undefined && { code });
}

it.each([
  ['08006', 'DATA_UNREACHABLE'],
  ['53300', 'DATA_UNREACHABLE'],
  ['57014', 'DATA_UNREACHABLE'],
  ['57P01', 'DATA_UNREACHABLE'],
  ['57P03', 'DATA_UNREACHABLE'],
  ['ETIMEDOUT', 'DATA_UNREACHABLE'],
  ['53100', 'DATA_UNWRITABLE'],
  ['XX001', 'JOURNAL_CORRUPT'],
])('reports the error code %s as %s, with the name of the database and a hint', (state, code) => {
  const cause = clientError(state);
  const error = databaseError(cause, LOCATION);
  expect(error).toMatchObject({ code, cause, details: { host: 'h', port: 5432, database: 'd' } });
  expect(error?.message).toMatch(/^The database "d" at h:5432 cannot be used: .*\.$/);
});

it.each([
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string',
])('recognizes errors of the client that have no code: %s', (message) => {
  expect(databaseError(clientError(undefined, message), LOCATION)?.code).toBe('DATA_UNREACHABLE');
});

it.each([['23505'], ['42601'], [undefined]])(
  'returns undefined for an error in a statement (%s)',
  (state) => {
    expect(databaseError(clientError(state), LOCATION)).toBeUndefined();
  },
);

it('calls a statement retryable only if it was rolled back', () => {
  expect(['40001', '40P01', '57P01', undefined].map((state) => isRetryable(clientError(state)))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
