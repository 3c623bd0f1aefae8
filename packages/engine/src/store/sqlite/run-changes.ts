import type { DatabaseSync } from 'node:sqlite';
import { toStoredChange } from '../stored-change.ts';
import type { ChangeRow } from '../stored-change.ts';
import type { RunChangeStore, StoredChange } from '../stores.ts';
import type { GroupCommit } from './commit.ts';
import { lazyStatements, withFileErrors } from './database.ts';

function prepare(db: DatabaseSync) {
  return {
    begin: db.prepare('INSERT OR IGNORE INTO run_feed (begun) VALUES (1)'),
    seed: db.prepare('INSERT INTO run_changes (run_id) SELECT run_id FROM runs ORDER BY number'),
    read: db.prepare(`
      SELECT position, run_changes.run_id, header, record FROM run_changes LEFT JOIN runs USING (run_id)
      ORDER BY position LIMIT ?`),
    acknowledge: db.prepare('DELETE FROM run_changes WHERE position = ?'),
    bytes: db.prepare(`
      SELECT octet_length(header) + coalesce(octet_length(record), 0)
        + coalesce((
          SELECT sum(octet_length(entry)) FROM journal_marks AS mark CROSS JOIN journal
            ON journal.run = mark.run AND position BETWEEN first AND last
          WHERE mark.run = number), 0)
        + coalesce((SELECT sum(octet_length(logs)) FROM logs WHERE run = number), 0)
        + coalesce((SELECT sum(octet_length(result)) FROM steps WHERE run = number), 0)
        + coalesce((SELECT sum(bytes) FROM value_uses JOIN stored_values USING (key) WHERE run = number), 0) AS bytes
      FROM runs WHERE run_id = ?`),
  };
}

/** Changes to runs, in the data file. */
export class SqliteRunChanges implements RunChangeStore {
  /** Prepared at the first use: most engines have no consumer. */
  readonly #statements: () => ReturnType<typeof prepare>;
  readonly #file: string;
  readonly #commit: GroupCommit;
  #hasBegun = false;

  constructor(db: DatabaseSync, file: string, commit: GroupCommit) {
    this.#statements = lazyStatements(db, prepare);
    this.#file = file;
    this.#commit = commit;
  }

  async begin(): Promise<void> {
    if (this.#hasBegun) return;
    await this.#commit.run(() => {
      if (this.#statements().begin.run().changes === 1) this.#statements().seed.run();
    });
    this.#hasBegun = true;
  }

  read(limit: number): StoredChange[] {
    const rows = withFileErrors(this.#file, () =>
      this.#statements().read.all(limit),
    ) as unknown as ChangeRow[];
    return rows.map(toStoredChange);
  }

  acknowledge(positions: readonly number[]): Promise<void> {
    return this.#commit.run(() => {
      for (const position of positions) this.#statements().acknowledge.run(position);
    });
  }

  bytesOf(runIds: readonly string[]): Map<string, number> {
    return new Map(
      runIds.flatMap((runId) => {
        const row = withFileErrors(this.#file, () => this.#statements().bytes.get(runId));
        return row ? [[runId, row['bytes'] as number]] : [];
      }),
    );
  }
}
