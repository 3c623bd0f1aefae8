import type { DatabaseSync } from 'node:sqlite';
import type { BlockLog } from '@heddle/core';
import { parseStored } from '../errors.ts';
import { LOGS_PER_ROW } from './schema.ts';

function prepare(db: DatabaseSync) {
  return {
    part: db.prepare('SELECT logs FROM logs WHERE run = ? AND part = ?'),
    add: db.prepare('INSERT OR IGNORE INTO logs (run, part, logs) VALUES (?, ?, ?)'),
    change: db.prepare('UPDATE logs SET logs = ? WHERE run = ? AND part = ?'),
    remove: db.prepare('DELETE FROM logs WHERE run = ?'),
    all: db.prepare(
      'SELECT logs FROM logs WHERE run = (SELECT number FROM runs WHERE run_id = ?) ORDER BY part',
    ),
    last: db.prepare(
      'SELECT logs FROM logs WHERE run = (SELECT number FROM runs WHERE run_id = ?) ORDER BY part DESC LIMIT 1',
    ),
  };
}

/** Block logs in the data file, up to 100 per row: most runs write all of their logs in one commit. */
export class SqliteLogs {
  readonly #sql: ReturnType<typeof prepare>;

  constructor(db: DatabaseSync) {
    this.#sql = prepare(db);
  }

  /** Saves new and changed logs of a run. Must be called in a transaction. */
  save(run: number, logs: readonly BlockLog[]): void {
    const parts = Map.groupBy(logs, ({ executionOrder }) => Math.floor(executionOrder / LOGS_PER_ROW));
    for (const [part, changed] of parts) {
      if (this.#sql.add.run(run, part, JSON.stringify(mergeLogs([], changed))).changes === 1) continue;
      const stored = parseLogs(this.#sql.part.get(run, part)?.['logs'], `run number ${run}`);
      this.#sql.change.run(JSON.stringify(mergeLogs(stored, changed)), run, part);
    }
  }

  /** Removes the logs of a run. Must be called in a transaction. */
  remove(run: number): void {
    this.#sql.remove.run(run);
  }

  /** Returns the logs of a run in execution order. */
  read(runId: string): BlockLog[] {
    return this.#sql.all.all(runId).flatMap((row) => parseLogs(row['logs'], `run "${runId}"`));
  }

  /** Returns the highest execution order of the logs of a run; 0 if there are none. */
  lastOrder(runId: string): number {
    const row = this.#sql.last.get(runId);
    return (row && parseLogs(row['logs'], `run "${runId}"`).at(-1)?.executionOrder) ?? 0;
  }
}

function mergeLogs(stored: readonly BlockLog[], changed: readonly BlockLog[]): BlockLog[] {
  const logs = new Map(stored.map((log) => [log.executionOrder, log]));
  for (const log of changed) logs.set(log.executionOrder, log);
  return [...logs.values()].sort((a, b) => a.executionOrder - b.executionOrder);
}

/** Parses a row of logs. `runLabel` names the run in errors. */
export function parseLogs(text: unknown, runLabel: string): BlockLog[] {
  return parseStored<BlockLog[]>(text as string, `log of ${runLabel}`);
}
