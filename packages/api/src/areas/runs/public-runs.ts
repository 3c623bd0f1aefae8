import type { Engine } from '@heddle/engine';
import { isRunNotFound } from '../../engine-errors.ts';
import type { Db } from '../../store/database.ts';
import type { PublicRunRow } from '../../store/schema.ts';
import type { ReservationStore } from './store.ts';

/** Runs that callers without a credential have started. */
export class PublicRunStore {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  async add(run: Pick<PublicRunRow, 'run_id' | 'created_at'>): Promise<void> {
    await this.#db.insertInto('public_runs').values(run).execute();
  }

  /** Records the keys of the files that were stored for the run. */
  async addFiles(runId: string, keys: readonly string[]): Promise<void> {
    const files = JSON.stringify(keys);
    await this.#db.updateTable('public_runs').set({ files }).where('run_id', '=', runId).execute();
  }

  /** Forgets a run of which nothing has come, unless files are stored for it. */
  async release(runId: string): Promise<void> {
    const query = this.#db.deleteFrom('public_runs').where('run_id', '=', runId).where('files', 'is', null);
    await query.execute();
  }

  async remove(runId: string): Promise<void> {
    await this.#db.deleteFrom('public_runs').where('run_id', '=', runId).execute();
  }

  /** Runs that were asked for before that time, oldest first, after `last`. */
  async page(before: string, last: PublicRunRow | undefined, limit: number): Promise<PublicRunRow[]> {
    return this.#db
      .selectFrom('public_runs')
      .selectAll()
      .where('created_at', '<', before)
      .$if(last !== undefined, (query) =>
        query.where((of) => {
          const { created_at: at, run_id: id } = last as PublicRunRow;
          return of.or([
            of('created_at', '>', at),
            of.and([of('created_at', '=', at), of('run_id', '>', id)]),
          ]);
        }),
      )
      .orderBy('created_at')
      .orderBy('run_id')
      .limit(limit)
      .execute();
  }
}

/** Runs that are looked at in one query. */
const PAGE = 200;
/** How often runs are looked for whose time is over. */
const SWEEP_MS = 3_600_000;

interface RetentionParts {
  engine: Pick<Engine, 'getRun' | 'deleteRun' | 'deleteFiles'>;
  store: { publicRuns: PublicRunStore; reservations: Pick<ReservationStore, 'release'> };
  /** Milliseconds after its end in which a run stays. */
  retentionMs: number;
  now: () => number;
  every: (ms: number, beat: () => void) => () => void;
  report: (error: unknown) => void;
}

/** Deletes runs of callers without a credential when they have ended long enough ago. */
export class PublicRunRetention {
  readonly #parts: RetentionParts;
  readonly #stop: () => void;
  #sweeping: Promise<void> | undefined;
  #closed = false;

  constructor(parts: RetentionParts) {
    this.#parts = parts;
    this.#stop = parts.every(SWEEP_MS, () => this.#begin());
    this.#begin();
  }

  /** Resolves when nothing is under way any more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stop();
    await this.#sweeping;
  }

  #begin(): void {
    const { report } = this.#parts;
    this.#sweeping ??= this.#sweep()
      .catch(report)
      .finally(() => {
        this.#sweeping = undefined;
      });
  }

  async #sweep(): Promise<void> {
    const { store, retentionMs, now, report } = this.#parts;
    const beforeMs = now() - retentionMs;
    if (!Number.isFinite(beforeMs)) return;
    const before = new Date(beforeMs).toISOString();
    let last: PublicRunRow | undefined;
    do {
      const page = await store.publicRuns.page(before, last, PAGE);
      for (const row of page) {
        if (this.#closed) return;
        await this.#delete(row, beforeMs).catch(report);
      }
      last = page.length === PAGE ? page.at(-1) : undefined;
    } while (last);
  }

  async #delete({ run_id: runId, files }: PublicRunRow, beforeMs: number): Promise<void> {
    const { engine, store } = this.#parts;
    const endedAt = await this.#endOf(runId);
    // Also one that waits for a person goes on, however long ago it was started.
    if (endedAt === null || (endedAt !== undefined && Date.parse(endedAt) >= beforeMs)) return;
    if (endedAt !== undefined) await engine.deleteRun(runId);
    await engine.deleteFiles(files === null ? [] : (JSON.parse(files) as string[]));
    await store.reservations.release(runId);
    await store.publicRuns.remove(runId);
  }

  /** When the run ended; null: it has not; undefined: there is none. */
  async #endOf(runId: string): Promise<string | null | undefined> {
    try {
      return (await this.#parts.engine.getRun(runId)).endedAt;
    } catch (error) {
      if (isRunNotFound(error)) return undefined;
      throw error;
    }
  }
}
