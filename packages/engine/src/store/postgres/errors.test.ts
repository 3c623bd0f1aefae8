import { expect, it } from 'vitest';
import { databaseError, isRetryable } from './errors.ts';

const PLACE = { host: 'h', port: 5432, database: 'd', user: 'u', schema: 's' };

function failing(code: string | undefined, message = 'x'): Error {
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
])('says of the state %s which database, what is wrong and what to do: %s', (state, code) => {
  const cause = failing(state);
  const error = databaseError(cause, PLACE);
  expect(error).toMatchObject({ code, cause, details: { host: 'h', port: 5432, database: 'd' } });
  expect(error?.message).toMatch(/^The database "d" at h:5432 cannot be used: .*\.$/);
});

it.each([
  'timeout exceeded when trying to connect',
  'Query read timeout',
  'Connection terminated unexpectedly',
  'Connection terminated due to connection timeout',
  'SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string',
])('knows what the client says without a state: %s', (message) => {
  expect(databaseError(failing(undefined, message), PLACE)?.code).toBe('DATA_UNREACHABLE');
});

it.each([['23505'], ['42601'], [undefined]])(
  'leaves an error of a statement (%s) to whoever made it',
  (state) => {
    expect(databaseError(failing(state), PLACE)).toBeUndefined();
  },
);

it('lets a statement run again only where nothing of it is left', () => {
  expect(['40001', '40P01', '57P01', undefined].map((state) => isRetryable(failing(state)))).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
