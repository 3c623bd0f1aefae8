import type { DatabaseSync } from 'node:sqlite';
import type { Place, StoredValue } from '@heddle/core/run';
import { parseStoredJson, unknownRunError } from '../errors.ts';
import { stepPlace } from '../step-place.ts';
import { valueKeysIn } from '../value-key.ts';
import type { StoredStep } from '../stores.ts';

function prepare(db: DatabaseSync) {
  return {
    runNumber: db.prepare('SELECT number FROM runs WHERE run_id = ?'),
    read: db.prepare(
      'SELECT key, result FROM steps WHERE run = (SELECT number FROM runs WHERE run_id = ?) AND place = ?',
    ),
    get: db.prepare('SELECT result FROM steps WHERE run = ? AND place = ? AND key = ?'),
    begin: db.prepare('INSERT OR IGNORE INTO steps (run, place, key) VALUES (?, ?, ?)'),
    end: db.prepare(`
      INSERT INTO steps (run, place, key, result) VALUES (?, ?, ?, ?)
      ON CONFLICT DO UPDATE SET result = excluded.result WHERE result IS NULL`),
    forget: db.prepare('DELETE FROM steps WHERE run = ? AND place = ? AND key = ? AND result IS NULL'),
    addUse: db.prepare('INSERT OR IGNORE INTO value_uses (key, run) VALUES (?, ?)'),
    remove: db.prepare('DELETE FROM steps WHERE run = ?'),
  };
}

/** Steps of blocks in the data file. Writes must be made in a transaction. */
export class SqliteSteps {
  readonly #statements: ReturnType<typeof prepare>;

  constructor(db: DatabaseSync) {
    this.#statements = prepare(db);
  }

  read(runId: string, place: Place): StoredStep[] {
    return this.#statements.read.all(runId, stepPlace(place)).map((row) => ({
      key: row['key'] as string,
      result: parseResult(row['result'], runId),
    }));
  }

  begin(runId: string, place: Place, key: string): StoredStep | undefined {
    const runNumber = this.#runNumber(runId);
    const placeName = stepPlace(place);
    if (this.#statements.begin.run(runNumber, placeName, key).changes === 1) return undefined;
    return {
      key,
      result: parseResult(this.#statements.get.get(runNumber, placeName, key)?.['result'], runId),
    };
  }

  /** Returns the recorded result: `result`, or the result of an earlier call. */
  end(runId: string, place: Place, key: string, result: StoredValue): StoredValue {
    const runNumber = this.#runNumber(runId);
    const placeName = stepPlace(place);
    const json = JSON.stringify(result);
    if (this.#statements.end.run(runNumber, placeName, key, json).changes === 0)
      return parseResult(this.#statements.get.get(runNumber, placeName, key)?.['result'], runId) ?? result;
    for (const valueKey of valueKeysIn(json)) this.#statements.addUse.run(valueKey, runNumber);
    return result;
  }

  forget(runId: string, place: Place, key: string): void {
    this.#statements.forget.run(this.#runNumber(runId), stepPlace(place), key);
  }

  /** Removes the steps of the run with this number. */
  remove(runNumber: number): void {
    this.#statements.remove.run(runNumber);
  }

  #runNumber(runId: string): number {
    const runNumber = this.#statements.runNumber.get(runId)?.['number'];
    if (runNumber === undefined) throw unknownRunError(runId);
    return runNumber as number;
  }
}

function parseResult(text: unknown, runId: string): StoredValue | undefined {
  return text === null || text === undefined
    ? undefined
    : parseStoredJson<StoredValue>(text as string, `step of run "${runId}"`);
}
