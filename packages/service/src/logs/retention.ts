import { randomUUID } from 'node:crypto';
import { isEngineError } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { freeLease, takeLease } from './lease.ts';
import { removeLogs } from './store.ts';
import type { LogTables } from './tables.ts';

type Db = Kysely<LogTables>;

/** How long runs are kept after their end. Absent: for ever, whatever their size. */
export interface RetentionLimits {
  /** Milliseconds, at least an hour. */
  maxAgeMs?: number | undefined;
  /** Bytes of all runs together. The oldest runs that have ended are deleted first. */
  maxBytes?: number | undefined;
}

/** A run that has ended, of any workspace. */
interface EndedRun {
  engine_id: string;
  ended_ms: number;
  bytes: number;
}

interface RetentionOptions {
  engine: Pick<Engine, 'deleteRun' | 'runSizes'>;
  db: Db;
  limits: RetentionLimits;
  now: () => number;
  every: (ms: number, beat: () => void) => () => void;
  /** Updates the log. */
  index: () => Promise<void>;
  /** Resolves after a pause between two deletions, in which runs go on. */
  pause: () => Promise<void>;
  report: (error: unknown) => void;
}

/** The engine keeps values that are younger, because a run that starts may use them. */
export const MIN_RETENTION_MS = 3_600_000;
const SWEEP_MS = 600_000;
const LEASE = 'log retention';
const LEASE_MS = 60_000;
/** Rows of one query. */
const BATCH = 20;

/**
 * Deletes runs beyond the limits, in the background. One process at a time sweeps, and runs are deleted one by one with
 * pauses, so that a sweep never holds up runs for long.
 */
export class RunRetention {
  readonly #options: RetentionOptions;
  readonly #owner = randomUUID();
  readonly #stop: () => void;
  #sweeping: Promise<void> | undefined;
  #isClosed = false;

  /** Throws a RangeError for a limit that is too small. */
  constructor(options: RetentionOptions) {
    const { maxAgeMs = Infinity, maxBytes = Infinity } = options.limits;
    if (!(maxAgeMs >= MIN_RETENTION_MS))
      throw new RangeError(`maxAgeMs must be at least ${MIN_RETENTION_MS}.`);
    if (!(maxBytes > 0)) throw new RangeError('maxBytes must be greater than 0.');
    this.#options = options;
    this.#stop = options.every(SWEEP_MS, () => this.#beat());
    this.#beat();
  }

  /** Deletes what is beyond the limits now, unless another process does. */
  sweep(): Promise<void> {
    return (this.#sweeping ??= this.#sweepLeased().finally(() => {
      this.#sweeping = undefined;
    }));
  }

  /** Stops sweeping. Resolves when the current sweep has stopped. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stop();
    await this.#sweeping?.catch(() => undefined);
  }

  #beat(): void {
    this.sweep().catch(this.#options.report);
  }

  async #sweepLeased(): Promise<void> {
    const { db, limits, now } = this.#options;
    const { maxAgeMs = Infinity, maxBytes = Infinity } = limits;
    if (!(await this.#hasLease())) return;
    try {
      if (Number.isFinite(maxAgeMs)) await this.#deleteOlder(now() - maxAgeMs);
      if (Number.isFinite(maxBytes)) await this.#deleteUntil(maxBytes);
    } finally {
      await freeLease(db, this.#lease());
    }
  }

  /** Deletes the oldest runs until all take at most `maxBytes`. May delete up to a batch more: runs take their children along. */
  async #deleteUntil(maxBytes: number): Promise<void> {
    const { db, now, index } = this.#options;
    const beforeMs = now() - MIN_RETENTION_MS;
    let last: EndedRun | undefined;
    do {
      await this.#measure();
      const excess = (await totalBytes(db)) - maxBytes;
      if (excess <= 0) return;
      last = await this.#deleteBatch({ beforeMs, last, excess });
      // Removes the rows of the children.
      await index();
    } while (last && (await this.#hasLease()));
  }

  async #deleteOlder(beforeMs: number): Promise<void> {
    let last: EndedRun | undefined;
    do last = await this.#deleteBatch({ beforeMs, last, excess: Infinity });
    while (last && (await this.#hasLease()));
  }

  /** Deletes runs that ended before `beforeMs`, oldest first, until `excess` bytes are freed. Returns the last run if more may follow. */
  async #deleteBatch(batch: {
    beforeMs: number;
    last: EndedRun | undefined;
    excess: number;
  }): Promise<EndedRun | undefined> {
    const { db, pause } = this.#options;
    const runs = await endedRuns(db, batch.beforeMs, batch.last);
    let freed = 0;
    let last: EndedRun | undefined;
    for (const run of runs) {
      if (this.#isClosed) return undefined;
      if (freed >= batch.excess) return last;
      if (await this.#delete(run.engine_id)) freed += Math.max(0, run.bytes);
      last = run;
      await pause();
    }
    return runs.length === BATCH ? last : undefined;
  }

  /** False if the run, or a child of it, has not ended. */
  async #delete(engineId: string): Promise<boolean> {
    const { engine, db } = this.#options;
    try {
      await engine.deleteRun(engineId);
    } catch (error) {
      if (!isEngineError(error)) throw error;
      if (error.code === 'RUN_NOT_SETTLED') return false;
      if (error.code !== 'RUN_NOT_FOUND') throw error;
    }
    await removeLogs(db, [engineId]);
    return true;
  }

  /** Measures ended runs that are not measured yet. */
  async #measure(): Promise<void> {
    const { engine, db, pause } = this.#options;
    for (;;) {
      const ids = await unmeasured(db);
      if (ids.length === 0 || this.#isClosed || !(await this.#hasLease())) return;
      const sizes = await engine.runSizes(ids);
      // A run that is gone has size 0: its row is removed with the next changes.
      for (const id of ids)
        await db
          .updateTable('run_logs')
          .set({ bytes: sizes.get(id) ?? 0 })
          .where('engine_id', '=', id)
          .execute();
      await pause();
    }
  }

  #hasLease(): Promise<boolean> {
    return takeLease(this.#options.db, this.#lease());
  }

  #lease() {
    return { name: LEASE, owner: this.#owner, nowMs: this.#options.now(), leaseMs: LEASE_MS };
  }
}

/** Returns ended runs without a parent, oldest first, after `last`. */
async function endedRuns(db: Db, beforeMs: number, last: EndedRun | undefined): Promise<EndedRun[]> {
  const rows = await db
    .selectFrom('run_logs')
    .select(['engine_id', 'ended_ms', 'bytes'])
    .where('is_child', '=', sql.lit(0))
    .where('ended_ms', '<', beforeMs)
    .$if(last !== undefined, (query) =>
      query.where(sql<boolean>`(ended_ms, engine_id) > (${last?.ended_ms}, ${last?.engine_id})`),
    )
    .orderBy('ended_ms')
    .orderBy('engine_id')
    .limit(BATCH)
    .execute();
  return rows.map((row) => ({
    engine_id: row.engine_id,
    ended_ms: Number(row.ended_ms),
    bytes: Number(row.bytes),
  }));
}

async function unmeasured(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('run_logs')
    .select('engine_id')
    .where('bytes', '=', -1)
    .where('ended_ms', 'is not', null)
    .limit(BATCH)
    .execute();
  return rows.map((row) => row.engine_id);
}

async function totalBytes(db: Db): Promise<number> {
  const row = await db
    .selectFrom('run_logs')
    .select(sql<number>`sum(bytes)`.as('total'))
    .where('bytes', '>', 0)
    .executeTakeFirst();
  return Number(row?.total ?? 0);
}
