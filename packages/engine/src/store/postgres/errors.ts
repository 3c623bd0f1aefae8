import { EngineError } from '@heddle/core';
import type { EngineErrorCode } from '@heddle/core';

/** The database as messages name it. The URL is omitted, because it may contain a password. */
export interface DatabaseLocation {
  host: string;
  port: number;
  database: string;
  user: string;
  schema: string;
}

/** SQLSTATEs of constraints (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
export const NOT_NULL_VIOLATION = '23502';
export const FOREIGN_KEY_VIOLATION = '23503';
export const UNIQUE_VIOLATION = '23505';
/** The encoding cannot store a character: with UTF-8, NUL. */
const CHARACTER_NOT_IN_REPERTOIRE = '22021';

/** SQLSTATEs of statements that were rolled back because of a conflict, and can be retried unchanged. */
const RETRYABLE_STATES: ReadonlySet<string> = new Set(['40001', '40P01']);

/** The code, and the end of the message: the problem and what to do. */
type Explanation = readonly [EngineErrorCode, (location: DatabaseLocation) => string];

const LOGIN_REFUSED: Explanation = [
  'DATA_UNREACHABLE',
  ({ user }) =>
    `it refuses the user "${user}". Check the user, the password and the access rules of the server`,
];
const NO_FREE_CONNECTION: Explanation = [
  'DATA_UNREACHABLE',
  () => 'it has no free connection. Raise its connection limit, or lower maxConnections',
];
const CONNECTION_LOST: Explanation = [
  'DATA_UNREACHABLE',
  () =>
    'the connection was lost, and the last write may or may not have been made. Try again when the database is available',
];
const SERVER_STARTING: Explanation = [
  'DATA_UNREACHABLE',
  () => 'it is starting or stopping. Try again in a moment',
];
const RESPONSE_TIMEOUT: Explanation = [
  'DATA_UNREACHABLE',
  () => 'it did not answer in time. Check its load, then try again',
];
const SCHEMA_CHANGED: Explanation = [
  'DATA_FORMAT_UNSUPPORTED',
  ({ schema }) =>
    `the tables in the schema "${schema}" were changed outside Heddle. Restore the schema from a backup`,
];
const FILES_CORRUPT: Explanation = [
  'JOURNAL_CORRUPT',
  () => 'its files are corrupt. Restore it from a backup',
];

const EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  ECONNREFUSED: [
    'DATA_UNREACHABLE',
    () => 'nothing listens at that address. Start the database, or correct the host and the port',
  ],
  ENOENT: ['DATA_UNREACHABLE', () => 'the socket does not exist. Start the database, or correct the host'],
  ENOTFOUND: ['DATA_UNREACHABLE', () => 'the host name is unknown. Correct it'],
  EAI_AGAIN: ['DATA_UNREACHABLE', () => 'the host name cannot be resolved at the moment. Check the network'],
  ECONNRESET: CONNECTION_LOST,
  EPIPE: CONNECTION_LOST,
  ETIMEDOUT: RESPONSE_TIMEOUT,
  EHOSTUNREACH: ['DATA_UNREACHABLE', () => 'the host is unreachable. Check the network'],
  ENETUNREACH: ['DATA_UNREACHABLE', () => 'the host is unreachable. Check the network'],
  '25006': ['DATA_UNWRITABLE', () => 'it is read-only. Use the address of the primary server'],
  '28000': LOGIN_REFUSED,
  '28P01': LOGIN_REFUSED,
  '3D000': [
    'DATA_UNREACHABLE',
    ({ database }) => `it has no database "${database}". Create it, or correct its name`,
  ],
  '3F000': SCHEMA_CHANGED,
  '42501': [
    'DATA_UNWRITABLE',
    ({ user, schema }) =>
      `the user "${user}" lacks the privileges. Let it create schemas, or make it the owner of the schema "${schema}"`,
  ],
  '42703': SCHEMA_CHANGED,
  '42P01': SCHEMA_CHANGED,
  '53100': ['DATA_UNWRITABLE', () => 'its disk is full. Free some space, then try again'],
  '53200': ['DATA_UNWRITABLE', () => 'it is out of memory. Free some, then try again'],
  '53300': NO_FREE_CONNECTION,
  '57014': RESPONSE_TIMEOUT,
  '57P01': CONNECTION_LOST,
  '57P02': CONNECTION_LOST,
  '57P03': SERVER_STARTING,
  '57P05': CONNECTION_LOST,
  XX001: FILES_CORRUPT,
  XX002: FILES_CORRUPT,
};

/** Messages of `pg` errors that have no code. */
const MESSAGE_PATTERNS: readonly (readonly [RegExp, Explanation])[] = [
  [/timeout/i, RESPONSE_TIMEOUT],
  [/connection (was )?terminated|connection error|not queryable/i, CONNECTION_LOST],
  [/SASL|password must be|no password/i, LOGIN_REFUSED],
];

/** Returns the SQLSTATE or system error code of a `pg` error; undefined for other errors. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** True if the statement can be retried: it was rolled back. */
export function isRetryable(error: unknown): boolean {
  return RETRYABLE_STATES.has(sqlState(error) ?? '');
}

/**
 * Returns the EngineError for a failure of the database or its connection; undefined if the statement itself is wrong.
 */
export function databaseError(error: unknown, location: DatabaseLocation): EngineError | undefined {
  const state = sqlState(error);
  if (state === CHARACTER_NOT_IN_REPERTOIRE) {
    // This is the caller's mistake, so the message does not name the database.
    const message =
      'An id or a name contains a NUL character, which PostgreSQL cannot store. Use another one.';
    return new EngineError('OPTIONS_INVALID', message, { cause: error });
  }
  const explanation =
    state === undefined
      ? explanationByMessage(error)
      : (EXPLANATIONS[state] ?? (state.startsWith('08') ? CONNECTION_LOST : undefined));
  if (!explanation) return undefined;
  const { host, port, database } = location;
  const [code, explain] = explanation;
  return new EngineError(
    code,
    `The database "${database}" at ${host}:${port} cannot be used: ${explain(location)}.`,
    { details: { host, port, database }, cause: error },
  );
}

/** Returns the error ENGINE_CLOSED for calls to closed stores. */
export function databaseClosed({ host, port, database }: DatabaseLocation): EngineError {
  return new EngineError(
    'ENGINE_CLOSED',
    `The stores in the database "${database}" at ${host}:${port} are closed. Open them again before you use them.`,
  );
}

function explanationByMessage(error: unknown): Explanation | undefined {
  if (!(error instanceof Error)) return undefined;
  return MESSAGE_PATTERNS.find(([pattern]) => pattern.test(error.message))?.[1];
}
