import type { Area } from '@heddle/api';
import type { Reservations } from '@heddle/api/ports';
import { isEngineError } from '@heddle/core';
import type { Engine } from '@heddle/engine';
import type { Db } from './database.ts';
import type { PublicRunRow } from './schema.ts';

/** Runs of anonymous callers. */
export class PublicRunStore {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  async add(runId: string, at: string): Promise<void> {
    await this.#db.insertInto('public_runs').values({ run_id: runId, created_at: at }).execute();
  }

  /** Records the keys of the files stored for the run. */
  async addFiles(runId: string, keys: readonly string[]): Promise<void> {
    const files = JSON.stringify(keys);
    await this.#db.updateTable('public_runs').set({ files }).where('run_id', '=', runId).execute();
  }

  /** Removes a run that was not started, unless files are stored for it. */
  async release(runId: string): Promise<void> {
    const query = this.#db.deleteFrom('public_runs').where('run_id', '=', runId).where('files', 'is', null);
    await query.execute();
  }

  async remove(runId: string): Promise<void> {
    await this.#db.deleteFrom('public_runs').where('run_id', '=', runId).execute();
  }

  /** Returns runs that were requested before that time, oldest first, after `last`. */
  async page(before: string, last: PublicRunRow | undefined, limit: number): Promise<PublicRunRow[]> {
    return this.#db
      .selectFrom('public_runs')
      .selectAll()
      .where('created_at', '<', before)
      .$if(last !== undefined, (query) =>
        query.where((eb) => {
          const { created_at: at, run_id: id } = last as PublicRunRow;
          return eb.or([
            eb('created_at', '>', at),
            eb.and([eb('created_at', '=', at), eb('run_id', '>', id)]),
          ]);
        }),
      )
      .orderBy('created_at')
      .orderBy('run_id')
      .limit(limit)
      .execute();
  }
}

/** Rows of one query. */
const PAGE = 200;
/** How often expired runs are deleted. */
const SWEEP_MS = 3_600_000;

interface RetentionOptions {
  engine: Pick<Engine, 'getRun' | 'deleteRun' | 'deleteFiles'>;
  store: { publicRuns: PublicRunStore; reservations: Pick<Reservations, 'release'> };
  /** Milliseconds for which a run is kept after its end. */
  retentionMs: number;
  now: () => number;
  every: (ms: number, beat: () => void) => () => void;
  report: (error: unknown) => void;
}

/** Deletes runs of anonymous callers some time after their end. */
class PublicRunRetention {
  readonly #options: RetentionOptions;
  readonly #stop: () => void;
  #sweeping: Promise<void> | undefined;
  #isClosed = false;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#stop = options.every(SWEEP_MS, () => this.#startSweep());
    this.#startSweep();
  }

  /** Stops sweeping. Resolves when the current sweep has stopped. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    await this.#sweeping;
  }

  #startSweep(): void {
    const { report } = this.#options;
    this.#sweeping ??= this.#sweep()
      .catch(report)
      .finally(() => {
        this.#sweeping = undefined;
      });
  }

  async #sweep(): Promise<void> {
    const { store, retentionMs, now, report } = this.#options;
    const beforeMs = now() - retentionMs;
    if (!Number.isFinite(beforeMs)) return;
    const before = new Date(beforeMs).toISOString();
    let last: PublicRunRow | undefined;
    do {
      const page = await store.publicRuns.page(before, last, PAGE);
      for (const row of page) {
        if (this.#isClosed) return;
        await this.#deleteExpired(row, beforeMs).catch(report);
      }
      last = page.length === PAGE ? page.at(-1) : undefined;
    } while (last);
  }

  async #deleteExpired({ run_id: runId, files }: PublicRunRow, beforeMs: number): Promise<void> {
    const { engine, store } = this.#options;
    const endedAt = await this.#endOf(runId);
    // A run that has not ended is kept, also one that has waited for a person since long ago.
    if (endedAt === null || (endedAt !== undefined && Date.parse(endedAt) >= beforeMs)) return;
    if (endedAt !== undefined) await engine.deleteRun(runId);
    await engine.deleteFiles(files === null ? [] : (JSON.parse(files) as string[]));
    await store.reservations.release(runId);
    await store.publicRuns.remove(runId);
  }

  /** Returns when the run ended; null: it is open; undefined: it does not exist. */
  async #endOf(runId: string): Promise<string | null | undefined> {
    try {
      return (await this.#options.engine.getRun(runId)).endedAt;
    } catch (error) {
      if (isEngineError(error) && error.code === 'RUN_NOT_FOUND') return undefined;
      throw error;
    }
  }
}

const DEFAULT_RETENTION_MS = 30 * 24 * 3_600_000;
/** Keeps retention from deleting what the engine has just stored. */
const MIN_RETENTION_MS = 3_600_000;

/**
 * Returns the area that deletes runs of callers without a credential `publicRunRetentionMs` milliseconds after their end: at least an
 * hour, default 30 days; Infinity: never. It has no operations. Throws a RangeError.
 */
export function publicRuns({
  store,
  publicRunRetentionMs: retentionMs = DEFAULT_RETENTION_MS,
}: {
  store: { publicRuns: PublicRunStore };
  publicRunRetentionMs?: number;
}): Area<{ close(): Promise<void> }, Record<never, never>> {
  if (!(retentionMs >= MIN_RETENTION_MS))
    throw new RangeError(`publicRunRetentionMs must be at least ${MIN_RETENTION_MS}.`);
  return {
    name: 'public-runs',
    operations: {},
    services: ({ engine, reservations, now, every, report }) =>
      new PublicRunRetention({
        ...{ engine, retentionMs, now, every, report },
        store: { publicRuns: store.publicRuns, reservations },
      }),
    close: (retention) => retention.close(),
  };
}
