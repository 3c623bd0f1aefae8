import type { Db } from './database.ts';
import type { PublicRunRow } from './schema.ts';

/** The runs of unauthenticated callers. */
export class PublicRunStore {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  async add(runId: string, createdAt: string): Promise<void> {
    await this.#db.insertInto('public_runs').values({ run_id: runId, created_at: createdAt }).execute();
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

  /** Returns runs that were requested before the time `cutoff`, oldest first, after the run of `lastRow`. */
  async readPage(cutoff: string, lastRow: PublicRunRow | undefined, limit: number): Promise<PublicRunRow[]> {
    return this.#db
      .selectFrom('public_runs')
      .selectAll()
      .where('created_at', '<', cutoff)
      .$if(lastRow !== undefined, (query) =>
        query.where((eb) => {
          const { created_at: createdAt, run_id: id } = lastRow as PublicRunRow;
          return eb.or([
            eb('created_at', '>', createdAt),
            eb.and([eb('created_at', '=', createdAt), eb('run_id', '>', id)]),
          ]);
        }),
      )
      .orderBy('created_at')
      .orderBy('run_id')
      .limit(limit)
      .execute();
  }
}
