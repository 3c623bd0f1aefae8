import type { RuntimeDependencies, TimedEntry } from '@heddle/engine/runtime';
import type { StoredValue } from '@heddle/core/run';
import type { Context } from '@temporalio/activity';
import { storeChunk } from '../chunk.ts';

/** Interval of heartbeats. The server's responses contain cancel requests, which thus reach a block within a second. */
const INTERVAL_MS = 400;

/**
 * Sends the heartbeats of an activity. Each contains the entries so far, for the worker that takes over if this worker
 * is lost; a long list is stored, and sent by reference. The server's responses contain cancel requests.
 */
export class Heartbeater {
  readonly #context: Context;
  readonly #runtime: Pick<RuntimeDependencies, 'values' | 'stores'>;
  readonly #runId: string;
  readonly #timer: NodeJS.Timeout;
  #entries: readonly TimedEntry[] = [];
  #storedEntries: { count: number; chunk: StoredValue } | undefined;
  #isStoring = false;

  constructor(context: Context, runtime: Pick<RuntimeDependencies, 'values' | 'stores'>, runId: string) {
    this.#context = context;
    this.#runtime = runtime;
    this.#runId = runId;
    this.#timer = setInterval(() => this.#heartbeat(), INTERVAL_MS);
  }

  /** Returns the entries from the last heartbeat of an earlier attempt. Throws VALUE_MISSING. */
  async recover(): Promise<TimedEntry[] | undefined> {
    const chunk = this.#context.info.heartbeatDetails as StoredValue | undefined;
    if (!chunk) return undefined;
    // If this attempt is also lost, the next attempt starts at least from these entries.
    this.#storedEntries = { count: 0, chunk };
    return (await this.#runtime.values.load(chunk)) as unknown as TimedEntry[];
  }

  /** Replaces the entries that the next heartbeats contain. */
  record(entries: readonly TimedEntry[]): void {
    this.#entries = entries;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #heartbeat(): void {
    this.#context.heartbeat(this.#storedEntries?.chunk);
    const count = this.#entries.length;
    if (this.#isStoring || count === (this.#storedEntries?.count ?? 0)) return;
    this.#isStoring = true;
    storeChunk(this.#runtime, this.#runId, this.#entries)
      .then((chunk) => (this.#storedEntries = { count, chunk }))
      // The next heartbeat tries again. Until then the last stored chunk remains.
      .catch(() => undefined)
      .finally(() => (this.#isStoring = false));
  }
}
