import type { DatabaseSync } from 'node:sqlite';
import type { BlockLog } from '@heddle/core';
import { parseStoredJson } from '../errors.ts';
import { LOGS_PER_ROW } from './schema.ts';

function prepare(db: DatabaseSync) {
  return {
    part: db.prepare('SELECT logs FROM logs WHERE run = ? AND part = ?'),
    add: db.prepare('INSERT OR IGNORE INTO logs (run, part, logs) VALUES (?, ?, ?)'),
    change: db.prepare('UPDATE logs SET logs = ? WHERE run = ? AND part = ?'),
    remove: db.prepare('DELETE FROM logs WHERE run = ?'),
    allParts: db.prepare(
      'SELECT logs FROM logs WHERE run = (SELECT number FROM runs WHERE run_id = ?) ORDER BY part',
    ),
    lastPart: db.prepare(
      'SELECT logs FROM logs WHERE run = (SELECT number FROM runs WHERE run_id = ?) ORDER BY part DESC LIMIT 1',
    ),
  };
}

/** Block logs in the data file, up to 100 per row: most runs write all of their logs in one commit. */
export class SqliteLogs {
  readonly #statements: ReturnType<typeof prepare>;

  constructor(db: DatabaseSync) {
    this.#statements = prepare(db);
  }

  /** Saves new and changed logs of a run. Must be called in a transaction. */
  save(runNumber: number, logs: readonly BlockLog[]): void {
    const parts = Map.groupBy(logs, ({ executionOrder }) => Math.floor(executionOrder / LOGS_PER_ROW));
    for (const [part, changedLogs] of parts) {
      if (this.#statements.add.run(runNumber, part, JSON.stringify(mergeLogs([], changedLogs))).changes === 1)
        continue;
      const storedLogs = parseLogs(
        this.#statements.part.get(runNumber, part)?.['logs'],
        `run number ${runNumber}`,
      );
      this.#statements.change.run(JSON.stringify(mergeLogs(storedLogs, changedLogs)), runNumber, part);
    }
  }

  /** Removes the logs of a run. Must be called in a transaction. */
  remove(runNumber: number): void {
    this.#statements.remove.run(runNumber);
  }

  /** Returns the logs of a run in execution order. */
  read(runId: string): BlockLog[] {
    return this.#statements.allParts.all(runId).flatMap((row) => parseLogs(row['logs'], `run "${runId}"`));
  }

  /** Returns the highest execution order of the logs of a run; 0 if there are none. */
  lastExecutionOrder(runId: string): number {
    const row = this.#statements.lastPart.get(runId);
    return (row && parseLogs(row['logs'], `run "${runId}"`).at(-1)?.executionOrder) ?? 0;
  }
}

function mergeLogs(storedLogs: readonly BlockLog[], changedLogs: readonly BlockLog[]): BlockLog[] {
  const logs = new Map(storedLogs.map((log) => [log.executionOrder, log]));
  for (const log of changedLogs) logs.set(log.executionOrder, log);
  return [...logs.values()].sort((a, b) => a.executionOrder - b.executionOrder);
}

/** Parses a row of logs. `runLabel` names the run in errors. */
export function parseLogs(text: unknown, runLabel: string): BlockLog[] {
  return parseStoredJson<BlockLog[]>(text as string, `log of ${runLabel}`);
}
