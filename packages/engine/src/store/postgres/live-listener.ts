import type { Client } from 'pg';
import { LiveEventWatchers } from '../live-events.ts';
import type { Database } from './database.ts';

/** First delay before a lost connection is opened again. The delay doubles each time, up to the maximum. */
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 10_000;

/**
 * One connection that listens for published events, open while this process watches a run. After a connection was lost,
 * all watchers are woken, because notifications may have been missed. Failures have no other effect: watchers also
 * poll.
 */
export class LiveListener {
  readonly #database: Database;
  readonly #channel: string;
  readonly #watchers = new LiveEventWatchers();
  #client: Client | undefined;
  #connecting: Promise<void> | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #delayMs = FIRST_DELAY_MS;
  #isClosed = false;

  constructor(database: Database, channel: string) {
    this.#database = database;
    this.#channel = channel;
  }

  watch(runId: string, wake: () => void): () => void {
    const remove = this.#watchers.add(runId, wake);
    this.#connect();
    return remove;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    await this.#connecting;
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  #connect(): void {
    if (this.#isClosed || this.#client || this.#connecting || this.#retryTimer || this.#watchers.size === 0)
      return;
    this.#connecting = this.#listen().finally(() => (this.#connecting = undefined));
  }

  /** Connects and listens. Never rejects. */
  async #listen(): Promise<void> {
    const client = this.#database.createClient();
    const onLost = (): void => this.#onLost(client);
    client.on('error', onLost).on('end', onLost);
    client.on('notification', ({ payload }) => {
      if (payload === undefined || payload === '') this.#watchers.wakeAll();
      else this.#watchers.wake(payload);
    });
    try {
      await client.connect();
      this.#client = client;
      await client.query(`LISTEN ${this.#channel}`);
      this.#delayMs = FIRST_DELAY_MS;
      this.#watchers.wakeAll();
    } catch {
      // `#onLost` ignores clients other than the current one.
      this.#client = client;
      onLost();
    }
  }

  #onLost(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.end().catch(() => undefined);
    if (this.#isClosed) return;
    this.#retryTimer = setTimeout(() => {
      this.#retryTimer = undefined;
      this.#connect();
    }, this.#delayMs);
    this.#retryTimer.unref();
    this.#delayMs = Math.min(MAX_DELAY_MS, this.#delayMs * 2);
  }
}
