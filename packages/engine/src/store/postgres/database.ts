import { EngineError } from '@heddle/core';
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import type { Compilable } from 'kysely';
import PQueue from 'p-queue';
import { Client, Pool, types } from 'pg';
import type { PoolClient } from 'pg';
import { databaseClosed, databaseError, isRetryable } from './errors.ts';
import type { DatabaseLocation } from './errors.ts';
import type { Tables } from './schema.ts';

/** Maximum time to connect. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Maximum time for a response. Without it, a call to a server that disappeared silently would never end. */
const QUERY_TIMEOUT_MS = 60_000;
/** Unused connections are closed after this time. */
const IDLE_TIMEOUT_MS = 30_000;
/** Maximum number of attempts for a statement that the database rolls back because of a conflict with another one. */
const MAX_ATTEMPTS = 5;
const INT8_OID = 20;

export interface DatabaseOptions {
  url: string;
  schema: string;
  maxConnections: number;
}

/** Runs a query of a transaction and returns its rows. */
export type QueryRunner = <Row>(query: Compilable<Row>) => Promise<Row[]>;

/**
 * A pool of connections to one database, and its query builder.
 *
 * Each call of `run` is one statement, so it is atomic and takes one round trip. Values are parameters, so the number
 * of query texts is small; each text is prepared once per connection.
 */
export class Database {
  readonly location: DatabaseLocation;
  readonly queryBuilder: Kysely<Tables>;
  readonly #url: string;
  readonly #pool: Pool;
  readonly #statementNames = new Map<string, string>();
  readonly #queue: PQueue;
  #closing: Promise<void> | undefined;

  constructor(options: DatabaseOptions) {
    this.location = locationOf(options);
    this.queryBuilder = createQueryBuilder(options.schema);
    this.#url = options.url;
    this.#queue = new PQueue({ concurrency: options.maxConnections });
    this.#pool = new Pool({
      Client: SocketClosingClient,
      connectionString: options.url,
      max: options.maxConnections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      keepAlive: true,
      fallback_application_name: 'heddle',
      types: { getTypeParser: parserOf },
    });
    // An unused connection was lost. The pool has removed it, and opens another one when needed.
    this.#pool.on('error', () => undefined);
  }

  /**
   * Runs a query and returns its rows and the number of changed rows. `translate` converts errors of the statement
   * itself. An `urgent` query is placed before all queries that wait for a connection.
   */
  run<Row>(
    query: Compilable<Row>,
    translate: (error: unknown) => unknown = (error) => error,
    { urgent = false }: { urgent?: boolean } = {},
  ): Promise<{ rows: Row[]; changedRowCount: number }> {
    const { sql, parameters } = query.compile();
    return this.#enqueue(urgent ? 1 : 0, async () => {
      const statement = { name: this.#statementName(sql), text: sql, values: [...parameters] };
      for (let attempt = 1; ; attempt += 1) {
        try {
          const { rows, rowCount } = await this.#pool.query(statement);
          return { rows: rows as Row[], changedRowCount: rowCount ?? 0 };
        } catch (error) {
          if (isRetryable(error) && attempt < MAX_ATTEMPTS) continue;
          throw databaseError(error, this.location) ?? translate(error);
        }
      }
    });
  }

  /** Calls `work` in a transaction on one connection, and returns its result. */
  transaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.#enqueue(0, async () => {
      let client: PoolClient | undefined;
      try {
        client = await this.#pool.connect();
        await client.query('BEGIN');
        const result = await work(client);
        await client.query('COMMIT');
        client.release();
        return result;
      } catch (error) {
        // Closing the connection rolls back the transaction in any state.
        client?.release(true);
        throw databaseError(error, this.location) ?? error;
      }
    });
  }

  /**
   * Calls `work` in a transaction, with a function that runs queries. Calls `work` again if the transaction conflicts
   * with another one.
   */
  async runTransaction<T>(work: (run: QueryRunner) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.transaction((client) =>
          work(async <Row>(query: Compilable<Row>) => {
            const { sql, parameters } = query.compile();
            const { rows } = await client.query(sql, [...parameters]);
            return rows as Row[];
          }),
        );
      } catch (error) {
        if (!isRetryable(error) || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }

  /** Returns a connection outside the pool, not connected yet. The caller ends it. */
  createClient(): Client {
    return new Client({
      connectionString: this.#url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      keepAlive: true,
      fallback_application_name: 'heddle',
    });
  }

  /** Waits for pending queries and closes all connections. Later queries fail with ENGINE_CLOSED. */
  close(): Promise<void> {
    this.#closing ??= this.#queue.onIdle().then(() => this.#pool.end());
    return this.#closing;
  }

  /** Queues here and not in the pool, which would count the waiting time towards the connection timeout. */
  async #enqueue<T>(priority: number, work: () => Promise<T>): Promise<T> {
    if (this.#closing) throw databaseClosed(this.location);
    return this.#queue.add(work, { priority });
  }

  #statementName(text: string): string {
    const name = this.#statementNames.get(text) ?? `heddle_${this.#statementNames.size}`;
    this.#statementNames.set(text, name);
    return name;
  }
}

/**
 * Closes the socket of a login that failed on the client side; `pg` itself leaves it open until the server times out.
 */
class SocketClosingClient extends Client {
  override connect(): Promise<Client>;
  override connect(done: (error: Error | null, client?: Client) => void): void;
  override connect(done?: (error: Error, client?: Client) => void): Promise<Client> | void {
    if (!done) return super.connect();
    super.connect((error: Error | null) => {
      if (error) void this.end();
      done(error as Error);
    });
  }
}

/** Returns a query builder that only compiles queries: `Database` runs them with `pg`. */
function createQueryBuilder(schema: string): Kysely<Tables> {
  const dialect = {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
  return new Kysely<Tables>({ dialect }).withSchema(schema);
}

/** Parses `bigint` as number instead of text: times and entry numbers are far below 2^53. */
function parserOf(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  return oid === INT8_OID
    ? Number
    : (types.getTypeParser(oid, format as 'text') as (value: string) => unknown);
}

function locationOf({ url, schema }: DatabaseOptions): DatabaseLocation {
  try {
    if (!/^postgres(ql)?:\/\//.test(url)) throw new TypeError('another scheme');
    const { host, port, database, user } = new Client({ connectionString: url });
    return { host, port, database: database ?? '', user: user ?? '', schema };
  } catch {
    // The cause is omitted, because it contains the whole URL.
    throw new EngineError(
      'OPTIONS_INVALID',
      'The URL of the database is invalid. Its form is postgresql://user:password@host:5432/database, with special characters as %XX.',
    );
  }
}
