import { Socket } from 'node:net';
import type { LookupFunction } from 'node:net';
import { BlockError } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { HttpClient } from '@heddle/engine';
import { Client, DatabaseError, Query } from 'pg';
import type { Context } from '../../define.ts';
import type { Server } from './server.ts';
import { parameterOf, parserOf } from './values.ts';

type Addresses = Awaited<ReturnType<HttpClient['checkServer']>>;

/** A statement with its parameters. */
export interface Statement {
  sql: string;
  values: readonly Json[];
  /** True if the database must refuse changes. */
  readOnly: boolean;
  /** True if the statement may be repeated when its outcome is unknown. */
  idempotent: boolean;
}

/** The result of a statement. */
export interface StatementResult {
  rows: JsonObject[];
  /** Number of rows that were returned or changed. */
  rowCount: number;
}

/** The allowed ports if the egress policy names none: PostgreSQL and its usual poolers. */
const DEFAULT_PORTS = [5432, 5433, 6432, 6543];
/** The library's error message for a server without TLS. */
const NO_TLS_MESSAGE = 'The server does not support SSL connections';
const CONNECT_TIMEOUT_MS = 15_000;
const STATEMENT_TIMEOUT_MS = 300_000;
const MAX_ROWS = 10_000;
const MAX_BYTES = 16 * 2 ** 20;
/** Code of the message that asks a server to cancel the statement of a session. */
const CANCEL_CODE = 80_877_102;
/** Codes of temporary failures: serialization, deadlock, locks, resources, connections, start and shutdown. */
const RETRYABLE_CODES = /^(?:40001|40P01|53\w{3}|57P0[123]|08\w{3}|55P03)$/;

/**
 * Runs one statement on a separate connection, in a transaction that ends with the statement. Throws SERVICE_FAILED if
 * the server refuses the statement, cannot be reached, or returns too much: then nothing has changed. Throws the same
 * if the connection breaks during the statement: then the outcome is unknown.
 */
export async function runStatement(
  context: Context,
  server: Server,
  statement: Statement,
): Promise<StatementResult> {
  const { signal } = context;
  const addresses = await resolveAddresses(context, server);
  signal.throwIfAborted();
  if (server.tls !== 'preferred') return runOnce(context, new Session(server, addresses), statement);
  try {
    const session = new Session({ ...server, tls: 'required' }, addresses);
    return await runOnce(context, session, statement);
  } catch (error) {
    if (
      !(error instanceof BlockError && error.cause instanceof Error && error.cause.message === NO_TLS_MESSAGE)
    )
      throw error;
    return runOnce(context, new Session({ ...server, tls: 'disabled' }, addresses), statement);
  }
}

async function runOnce(context: Context, session: Session, statement: Statement): Promise<StatementResult> {
  const timeoutMs = Math.ceil(Math.max(1, Math.min(STATEMENT_TIMEOUT_MS, context.remainingMs ?? Infinity)));
  // Normally the server enforces the time limit of the statement, but a hostile server may not.
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(timeoutMs + 2 * CONNECT_TIMEOUT_MS)]);
  const stop = (): void => session.cancel();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await session.run(statement, timeoutMs);
  } catch (error) {
    context.signal.throwIfAborted();
    throw session.failureOf(error, statement);
  } finally {
    signal.removeEventListener('abort', stop);
    session.close();
  }
}

/** Returns the addresses of the server. Throws SERVICE_FAILED if the egress policy denies them. */
async function resolveAddresses({ signal }: Context, { host, port, http }: Server): Promise<Addresses> {
  try {
    return await http.checkServer({ host, port, ports: DEFAULT_PORTS, signal });
  } catch (error) {
    signal.throwIfAborted();
    const isDenied = error instanceof Error && 'code' in error && error.code === 'EGRESS_DENIED';
    throw new BlockError('SERVICE_FAILED', `PostgreSQL cannot be reached: ${messageOf(error)}`, {
      retryable: !isDenied,
      cause: error,
    });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** One connection to a server. */
class Session {
  readonly #server: Server;
  readonly #addresses: Addresses;
  readonly #client: Client;
  /** True if the statement has been sent. */
  #isStatementSent = false;
  #receivedBytes = 0;
  /** Why the result is too large. Rows that have already arrived are still read, so only the first reason is kept. */
  #tooLargeReason: string | undefined;

  constructor(server: Server, addresses: Addresses) {
    this.#server = server;
    this.#addresses = addresses;
    const { host, port, user, password, database } = server;
    const socket = this.#countBytes(createSocket(addresses));
    this.#client = new Client({
      ...{ host, port, user, database },
      // All options are set, and the password is a function: the library reads missing options from the environment and
      // files.
      password: () => password,
      ssl: tlsOptionsOf(server),
      application_name: 'heddle',
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      // A man in the middle who relays messages fails this check.
      enableChannelBinding: true,
      stream: () => socket,
    });
    // Without a listener, the error of a broken connection would end the process.
    this.#client.on('error', () => undefined);
    const connection = this.#connection;
    connection.once('sslconnect', () => void this.#countBytes(connection.stream));
  }

  async run({ sql, values, readOnly }: Statement, timeoutMs: number): Promise<StatementResult> {
    const client = this.#client;
    await client.connect();
    const setupStatements = [
      `BEGIN${readOnly ? ' READ ONLY' : ''}`,
      `SET LOCAL statement_timeout = ${timeoutMs}`,
      // These replace the server's configuration: `parserOf` expects ISO dates, and `bindReferences` expects standard
      // string literals.
      "SET LOCAL datestyle = 'ISO'",
      'SET LOCAL standard_conforming_strings = on',
    ];
    await client.query(setupStatements.join('; '));
    this.#isStatementSent = true;
    const result = await this.#query(sql, values);
    await client.query('COMMIT');
    return result;
  }

  #query(sql: string, values: readonly Json[]): Promise<StatementResult> {
    const rows: JsonObject[] = [];
    const query = new Query({
      text: sql,
      values: values.map(parameterOf),
      rowMode: 'array',
      queryMode: 'extended',
      types: { getTypeParser: parserOf as never },
    } as never);
    return new Promise((resolve, reject) => {
      query.on('row', (row: unknown, result) => {
        if (rows.length >= MAX_ROWS)
          return this.#refuseResult(`returns more than ${MAX_ROWS} rows: add a LIMIT`);
        const cells = row as Json[];
        rows.push(
          Object.fromEntries((result?.fields ?? []).map(({ name }, index) => [name, cells[index] ?? null])),
        );
        return undefined;
      });
      query.on('error', reject);
      query.on('end', ({ rowCount }) => resolve({ rows, rowCount: rowCount ?? 0 }));
      this.#client.query(query);
    });
  }

  /** Cancels the statement on the server, and closes the connection. */
  cancel(): void {
    const { processID, secretKey } = this.#client as unknown as {
      processID?: number | null;
      secretKey?: number;
    };
    if (this.#isStatementSent && typeof processID === 'number' && typeof secretKey === 'number') {
      const message = Buffer.alloc(16);
      for (const [index, word] of [16, CANCEL_CODE].entries()) message.writeInt32BE(word, index * 4);
      message.writeInt32BE(processID, 8);
      message.writeInt32BE(secretKey, 12);
      const socket = createSocket(this.#addresses).on('error', () => undefined);
      socket.setTimeout(CONNECT_TIMEOUT_MS, () => socket.destroy());
      socket.connect(this.#server.port, this.#server.host).end(message);
    }
    this.#stop(new Error('The statement was stopped.'));
  }

  /** Closes the connection. Changes that are not committed are rolled back. */
  close(): void {
    void this.#client.end().catch(() => undefined);
    // The server may keep its side open.
    this.#connection.stream.destroySoon();
  }

  #stop(error: Error): void {
    this.#connection.stream.destroy(error);
  }

  get #connection(): Connection {
    return (this.#client as unknown as { connection: Connection }).connection;
  }

  /** Closes the connection, because the result is too large. */
  #refuseResult(reason: string): void {
    this.#tooLargeReason ??= reason;
    this.#stop(new Error(reason));
  }

  #countBytes(socket: Socket): Socket {
    return socket.on('data', (chunk: Buffer) => {
      this.#receivedBytes += chunk.length;
      if (this.#receivedBytes > MAX_BYTES) this.#refuseResult(`returns more than ${MAX_BYTES / 2 ** 20} MiB`);
    });
  }

  failureOf(error: unknown, { idempotent }: Statement): BlockError {
    if (this.#tooLargeReason !== undefined)
      return new BlockError(
        'SERVICE_FAILED',
        `The statement for PostgreSQL ${this.#tooLargeReason}. Nothing has changed.`,
        { retryable: false },
      );
    if (error instanceof DatabaseError) return refusalOf(error);
    const problem = this.#isStatementSent
      ? 'The connection to PostgreSQL was lost'
      : 'PostgreSQL cannot be reached';
    const { host, port } = this.#server;
    return new BlockError('SERVICE_FAILED', `${problem} (${host}:${port}): ${messageOf(error)}`, {
      retryable: idempotent || !this.#isStatementSent,
      cause: error,
    });
  }
}

/** The parts of the library's connection that its types omit. */
interface Connection {
  stream: Socket;
  once(event: 'sslconnect', listener: () => void): unknown;
}

function refusalOf({
  code = '',
  message,
  detail,
  hint,
  constraint,
  table,
  column,
}: DatabaseError): BlockError {
  const explanation = [detail, hint].filter((text) => text !== undefined).join(' ');
  const advice = code === '25006' ? ' (only the operation "execute" may change data)' : '';
  return new BlockError(
    'SERVICE_FAILED',
    `PostgreSQL refuses the statement (${code}): ${message}${explanation === '' ? '' : `. ${explanation}`}${advice}`
      .slice(0, 2000)
      .toWellFormed(),
    {
      retryable: RETRYABLE_CODES.test(code),
      details: {
        code,
        ...(constraint !== undefined && { constraint }),
        ...(table !== undefined && { table }),
        ...(column !== undefined && { column }),
      },
    },
  );
}

/** Returns a socket that connects to one of these addresses, regardless of the host name. */
function createSocket(addresses: Addresses): Socket {
  const candidates = addresses.map(({ address, family }) => ({ address, family }));
  const [first] = candidates;
  if (!first) throw new Error('There is no address to connect to.');
  const lookup: LookupFunction = (_host, { all: wantsAll }, callback) => {
    if (wantsAll === true) callback(null, candidates);
    else callback(null, first.address, first.family);
  };
  const socket = new Socket();
  const connect = socket.connect.bind(socket) as (options: object) => Socket;
  socket.connect = ((port: number, host: string) =>
    connect({ port, host, lookup, autoSelectFamily: candidates.length > 1 })) as Socket['connect'];
  return socket;
}

/** Returns the TLS options. Without `verify-full`, the connection is encrypted, but the certificate is not checked. */
function tlsOptionsOf({ tls, ca }: Server): false | { rejectUnauthorized: boolean; ca?: string } {
  if (tls === 'disabled') return false;
  return { rejectUnauthorized: tls === 'verify-full', ...(ca !== undefined && { ca }) };
}
