import { EngineError } from '@heddle/core';
import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely';
import type { Compilable } from 'kysely';
import PQueue from 'p-queue';
import { Client, Pool, types } from 'pg';
import type { PoolClient } from 'pg';
import { databaseClosed, databaseError, isRetryable } from './errors.ts';
import type { DatabaseLocation } from './errors.ts';
import type { Tables } from './schema.ts';

/** How long a connection may take. */
const CONNECT_TIMEOUT_MS = 10_000;
/** How long an answer may take; a server that is gone without a word would else never be missed. */
const ANSWER_TIMEOUT_MS = 60_000;
/** An unused connection is closed after this time. */
const IDLE_TIMEOUT_MS = 30_000;
/** How often a statement is run again that the database gave up in favour of another one. */
const MOST_RUNS = 5;
const INT8_OID = 20;

export interface DatabaseOptions {
  url: string;
  schema: string;
  maxConnections: number;
}

/**
 * A pool of connections to one database, and the builder of its queries.
 *
 * Every query is one statement, so it is done as a whole or not at all and takes one round trip. Queries are built with
 * values apart from their text, so there are few texts; each is prepared once for a connection.
 */
export class Database {
  readonly location: DatabaseLocation;
  readonly build: Kysely<Tables>;
  readonly #pool: Pool;
  readonly #names = new Map<string, string>();
  readonly #turns: PQueue;
  #closing: Promise<void> | undefined;

  constructor(options: DatabaseOptions) {
    this.location = placeOf(options);
    this.build = builder(options.schema);
    this.#turns = new PQueue({ concurrency: options.maxConnections });
    this.#pool = new Pool({
      Client: TidyClient,
      connectionString: options.url,
      max: options.maxConnections,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: ANSWER_TIMEOUT_MS,
      idleTimeoutMillis: IDLE_TIMEOUT_MS,
      keepAlive: true,
      fallback_application_name: 'heddle',
      types: { getTypeParser: parserOf },
    });
    // An unused connection was lost: the pool has dropped it and opens another one when it is needed.
    this.#pool.on('error', () => undefined);
  }

  /**
   * Rows of a query, and how many it has changed. `refused` translates what the database says against the statement;
   * what is `urgent` comes before all that waits for a connection.
   */
  run<Row>(
    query: Compilable<Row>,
    refused: (error: unknown) => unknown = (error) => error,
    { urgent = false }: { urgent?: boolean } = {},
  ): Promise<{ rows: Row[]; changed: number }> {
    const { sql, parameters } = query.compile();
    return this.#inTurn(urgent ? 1 : 0, async () => {
      const statement = { name: this.#nameOf(sql), text: sql, values: [...parameters] };
      for (let runs = 1; ; runs += 1) {
        try {
          const { rows, rowCount } = await this.#pool.query(statement);
          return { rows: rows as Row[], changed: rowCount ?? 0 };
        } catch (error) {
          if (isRetryable(error) && runs < MOST_RUNS) continue;
          throw databaseError(error, this.location) ?? refused(error);
        }
      }
    });
  }

  /** What `work` gives, on a connection in a transaction of its own. */
  transaction<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    return this.#inTurn(0, async () => {
      let client: PoolClient | undefined;
      try {
        client = await this.#pool.connect();
        await client.query('BEGIN');
        const result = await work(client);
        await client.query('COMMIT');
        client.release();
        return result;
      } catch (error) {
        // Closed, it rolls back whatever state it is in.
        client?.release(true);
        throw databaseError(error, this.location) ?? error;
      }
    });
  }

  /** Waits for what is under way and closes every connection; later queries fail with ENGINE_CLOSED. */
  close(): Promise<void> {
    this.#closing ??= this.#turns.onIdle().then(() => this.#pool.end());
    return this.#closing;
  }

  /** The pool itself would count the time in which a call waits for its turn as one in which nobody answers. */
  async #inTurn<T>(priority: number, work: () => Promise<T>): Promise<T> {
    if (this.#closing) throw databaseClosed(this.location);
    return this.#turns.add(work, { priority });
  }

  #nameOf(text: string): string {
    const name = this.#names.get(text) ?? `heddle_${this.#names.size}`;
    this.#names.set(text, name);
    return name;
  }
}

/** `pg` leaves the socket of a login that failed on our side open, until the server gives up waiting for it. */
class TidyClient extends Client {
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

/** Builds queries and never runs them: that is up to `pg`, with prepared statements. */
function builder(schema: string): Kysely<Tables> {
  const dialect = {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db: Kysely<unknown>) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  };
  return new Kysely<Tables>({ dialect }).withSchema(schema);
}

/** Times and numbers of entries are far below 2^53, where `pg` would give text. */
function parserOf(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  return oid === INT8_OID
    ? Number
    : (types.getTypeParser(oid, format as 'text') as (value: string) => unknown);
}

function placeOf({ url, schema }: DatabaseOptions): DatabaseLocation {
  try {
    if (!/^postgres(ql)?:\/\//.test(url)) throw new TypeError('another scheme');
    const { host, port, database, user } = new Client({ connectionString: url });
    return { host, port, database: database ?? '', user: user ?? '', schema };
  } catch {
    // Without its cause, which has the whole URL.
    throw new EngineError(
      'OPTIONS_INVALID',
      'The URL of the database cannot be read. It looks like postgresql://user:password@host:5432/database, special characters as %XX.',
    );
  }
}
