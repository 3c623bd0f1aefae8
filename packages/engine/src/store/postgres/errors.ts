import { EngineError } from '@heddle/core';
import type { EngineErrorCode } from '@heddle/core';

/** Where the stores are, for messages: never the URL, which may hold a password. */
export interface DatabaseLocation {
  host: string;
  port: number;
  database: string;
  user: string;
  schema: string;
}

/** SQLSTATEs of constraints (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
export const NOT_NULL = '23502';
export const FOREIGN_KEY = '23503';
export const UNIQUE = '23505';
const NUL_CHARACTER = '22021';

/** The statement was rolled back in favour of another one and may be run again as it is. */
const AGAIN: ReadonlySet<string> = new Set(['40001', '40P01']);

type Fault = readonly [EngineErrorCode, (place: DatabaseLocation) => string];

const REFUSED: Fault = [
  'DATA_UNREACHABLE',
  ({ user }) => `it refuses the user "${user}". Check the user, the password and what the server lets in`,
];
const FULL: Fault = ['DATA_UNREACHABLE', () => 'it has no connection left. Raise its limit, or lower ours'];
const LOST: Fault = [
  'DATA_UNREACHABLE',
  () => 'the connection was lost, so the last write may be done or not. Try again once it is there',
];
const STARTING: Fault = ['DATA_UNREACHABLE', () => 'it is starting or stopping. Try again in a moment'];
const SLOW: Fault = ['DATA_UNREACHABLE', () => 'it did not answer in time. Look at its load, then try again'];
const CHANGED: Fault = [
  'DATA_FORMAT_UNSUPPORTED',
  ({ schema }) => `the schema "${schema}" is no longer as Heddle made it. Restore it from a backup`,
];
const DAMAGED: Fault = ['JOURNAL_CORRUPT', () => 'its files are damaged. Restore it from a backup'];

const FAULTS: Readonly<Record<string, Fault>> = {
  ECONNREFUSED: [
    'DATA_UNREACHABLE',
    () => 'nobody listens there. Start it, or correct the host and the port',
  ],
  ENOENT: ['DATA_UNREACHABLE', () => 'there is no such socket. Start it, or correct the host'],
  ENOTFOUND: ['DATA_UNREACHABLE', () => 'the host is not known. Correct its name'],
  EAI_AGAIN: ['DATA_UNREACHABLE', () => 'the host cannot be looked up now. Check the network'],
  ECONNRESET: LOST,
  EPIPE: LOST,
  ETIMEDOUT: SLOW,
  EHOSTUNREACH: ['DATA_UNREACHABLE', () => 'there is no way to the host. Check the network'],
  ENETUNREACH: ['DATA_UNREACHABLE', () => 'there is no way to the host. Check the network'],
  '25006': ['DATA_UNWRITABLE', () => 'it may only be read. Name the server that takes writes'],
  '28000': REFUSED,
  '28P01': REFUSED,
  '3D000': [
    'DATA_UNREACHABLE',
    ({ database }) => `it has no database "${database}". Create it, or correct its name`,
  ],
  '3F000': CHANGED,
  '42501': [
    'DATA_UNWRITABLE',
    ({ user, schema }) =>
      `the user "${user}" may not do that. Let it create schemas, or make it the owner of the schema "${schema}"`,
  ],
  '42703': CHANGED,
  '42P01': CHANGED,
  '53100': ['DATA_UNWRITABLE', () => 'its disk is full. Free some space, then try again'],
  '53200': ['DATA_UNWRITABLE', () => 'it has not enough memory. Free some, then try again'],
  '53300': FULL,
  '57014': SLOW,
  '57P01': LOST,
  '57P02': LOST,
  '57P03': STARTING,
  '57P05': LOST,
  XX001: DAMAGED,
  XX002: DAMAGED,
};

/** What `pg` says without a code. */
const SAYINGS: readonly (readonly [RegExp, Fault])[] = [
  [/timeout/i, SLOW],
  [/connection (was )?terminated|connection error|not queryable/i, LOST],
  [/SASL|password must be|no password/i, REFUSED],
];

/** The SQLSTATE, or the code of the system, of an error of `pg`; undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** True when the same statement may be run again: nothing of it is left. */
export function isRetryable(error: unknown): boolean {
  return AGAIN.has(sqlState(error) ?? '');
}

/** An EngineError for what the database, or the way to it, has against a statement; undefined when the statement itself is wrong. */
export function databaseError(error: unknown, place: DatabaseLocation): EngineError | undefined {
  const state = sqlState(error);
  if (state === NUL_CHARACTER) {
    // It is the caller's to mend, who need not know where the database is.
    const message = 'An id or a name holds a NUL character, which PostgreSQL does not take. Use another one.';
    return new EngineError('OPTIONS_INVALID', message, { cause: error });
  }
  const fault =
    state === undefined ? said(error) : (FAULTS[state] ?? (state.startsWith('08') ? LOST : undefined));
  if (!fault) return undefined;
  const { host, port, database } = place;
  const [code, what] = fault;
  return new EngineError(
    code,
    `The database "${database}" at ${host}:${port} cannot be used: ${what(place)}.`,
    { details: { host, port, database }, cause: error },
  );
}

/** ENGINE_CLOSED for work on stores that are closed. */
export function databaseClosed({ host, port, database }: DatabaseLocation): EngineError {
  return new EngineError(
    'ENGINE_CLOSED',
    `The stores in the database "${database}" at ${host}:${port} are closed. Open them again before you use them.`,
  );
}

function said(error: unknown): Fault | undefined {
  if (!(error instanceof Error)) return undefined;
  return SAYINGS.find(([saying]) => saying.test(error.message))?.[1];
}
