import { createHash } from 'node:crypto';
import { sql } from 'kysely';
import type { RawBuilder } from 'kysely';
import {
  LIVE_PRUNE_INTERVAL_MS,
  LIVE_RETENTION_MS,
  MAX_LIVE_CHARS,
  MAX_LIVE_EVENTS,
} from '../live-events.ts';
import type { LiveEvent, LiveEventStore, NewLiveEvent } from '../live-events.ts';
import type { Database } from './database.ts';
import { LiveListener } from './live-listener.ts';

/** Number of new events of a run after which the events beyond the limits are removed. */
const EVENTS_PER_TRIM = 64;
/** Maximum length of a run id in a notification. A notification without an id wakes the listeners of all runs. */
const MAX_NOTIFIED_CHARS = 1000;

/**
 * Live events in PostgreSQL. Publishing is one statement: it takes the next numbers under the lock of the run's row in
 * `live_streams`, adds the events and notifies the processes. The tables are unlogged, so they cost no write-ahead log,
 * and are empty after a crash of the server.
 */
export class PostgresLiveEvents implements LiveEventStore {
  readonly batchMs = 5;
  readonly #database: Database;
  readonly #channel: string;
  readonly #listener: LiveListener;
  #lastPruneMs = -Infinity;

  constructor(database: Database) {
    this.#database = database;
    this.#channel = channelOf(database.location.schema);
    this.#listener = new LiveListener(database, this.#channel);
  }

  async publish(runId: string, events: readonly NewLiveEvent[]): Promise<number> {
    const count = events.length;
    const charCount = events.reduce((sum, { json }) => sum + json.length, 0);
    let end = 0;
    // The end of each event in the stream, relative to the new end of the stream.
    const endOffsets = events.map(({ json }) => (end += json.length) - charCount);
    const places = events.map(({ place }) => place);
    const jsonTexts = events.map(({ json }) => json);
    const payload = runId.length <= MAX_NOTIFIED_CHARS ? runId : '';
    const { rows } = await this.#run<{ last: number; chars: number }>(sql`
      WITH stream AS (
        INSERT INTO ${this.#table('live_streams')} AS streams (run_id, last, chars, touched)
          VALUES (${runId}, ${count}::bigint, ${charCount}::bigint, clock_timestamp())
          ON CONFLICT (run_id) DO UPDATE SET last = streams.last + excluded.last,
            chars = streams.chars + excluded.chars, touched = excluded.touched
          RETURNING number, last, chars
      ), added AS (
        INSERT INTO ${this.#table('live_events')} (stream, number, ends, place, json)
          SELECT stream.number, stream.last - ${count}::bigint + new.nth, stream.chars + new.ends, new.place, new.json
          FROM stream, unnest(${endOffsets}::bigint[], ${places}::text[], ${jsonTexts}::text[])
            WITH ORDINALITY AS new (ends, place, json, nth)
      )
      SELECT last, chars, pg_notify(${this.#channel}, ${payload})::text FROM stream`);
    const [stream] = rows as [{ last: number; chars: number }];
    if (Math.floor(stream.last / EVENTS_PER_TRIM) > Math.floor((stream.last - count) / EVENTS_PER_TRIM))
      await this.#trim(runId, stream);
    await this.#prune();
    return stream.last;
  }

  async #trim(runId: string, { last, chars }: { last: number; chars: number }): Promise<void> {
    await this.#run(sql`
      DELETE FROM ${this.#table('live_events')} WHERE stream = ${this.#streamOf(runId)}
        AND (number <= ${last - MAX_LIVE_EVENTS}::bigint OR ends <= ${chars - MAX_LIVE_CHARS}::bigint)`);
  }

  async #prune(): Promise<void> {
    const nowMs = performance.now();
    if (nowMs - this.#lastPruneMs < LIVE_PRUNE_INTERVAL_MS) return;
    this.#lastPruneMs = nowMs;
    await this.#run(sql`
      DELETE FROM ${this.#table('live_streams')}
        WHERE touched < clock_timestamp() - make_interval(secs => ${LIVE_RETENTION_MS / 1000}::float8)`);
  }

  async read(runId: string, afterNumber: number, limit: number): Promise<LiveEvent[]> {
    const { rows } = await this.#run<LiveEvent>(sql`
      SELECT number, place, json FROM ${this.#table('live_events')}
        WHERE stream = ${this.#streamOf(runId)} AND number > ${afterNumber}::bigint
        ORDER BY number LIMIT ${limit}::bigint`);
    return rows;
  }

  async places(runId: string): Promise<string[]> {
    const { rows } = await this.#run<{ place: string }>(sql`
      SELECT DISTINCT place FROM ${this.#table('live_events')} WHERE stream = ${this.#streamOf(runId)}`);
    return rows.map(({ place }) => place);
  }

  async lastNumber(runId: string): Promise<number> {
    const { rows } = await this.#run<{ last: number }>(
      sql`SELECT last FROM ${this.#table('live_streams')} WHERE run_id = ${runId}`,
    );
    return rows[0]?.last ?? 0;
  }

  async remove(runId: string): Promise<void> {
    await this.#run(sql`DELETE FROM ${this.#table('live_streams')} WHERE run_id = ${runId}`);
  }

  watch(runId: string, wake: () => void): () => void {
    return this.#listener.watch(runId, wake);
  }

  close(): Promise<void> {
    return this.#listener.close();
  }

  #streamOf(runId: string): RawBuilder<number> {
    return sql<number>`(SELECT number FROM ${this.#table('live_streams')} WHERE run_id = ${runId})`;
  }

  #table(name: 'live_streams' | 'live_events'): RawBuilder<unknown> {
    return sql.id(this.#database.location.schema, name);
  }

  #run<Row>(query: RawBuilder<Row>): Promise<{ rows: Row[] }> {
    return this.#database.run<Row>({ compile: () => query.compile(this.#database.queryBuilder) });
  }
}

/**
 * Returns the name of the notification channel for a schema. Channels belong to the whole database, and their names
 * have at most 63 bytes, so the name contains a hash of the schema's name.
 */
function channelOf(schema: string): string {
  return `heddle_live_${createHash('sha256').update(schema).digest('hex').slice(0, 32)}`;
}
