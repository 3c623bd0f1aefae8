import type { DatabaseSync } from 'node:sqlite';
import { EngineError } from '@heddle/core';
import { FORMAT_1 } from './format-1.ts';
import { FORMAT_2, FROM_1_TO_2, FROM_2_TO_3 } from './schema.ts';

/** Statements that lead from format n (its index) to format n + 1. Entries are never changed, only added. */
export const MIGRATIONS: readonly string[] = [FORMAT_1, FROM_1_TO_2, FROM_2_TO_3];

export interface Formats {
  migrations: readonly string[];
  /** Makes a new file in the newest format at once. */
  newest?: string;
}

const FORMATS: Formats = { migrations: MIGRATIONS, newest: `${FORMAT_2} ${FROM_2_TO_3}` };

/** The format of the file: 0 for a new one. */
export function formatOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.['user_version']);
}

/**
 * Brings the file to the newest format, step by step, each in a transaction of its own; of several processes that start
 * at once one takes each step.
 *
 * Only those may who write to the data folder: readers rely on the format they found. DATA_FORMAT_UNSUPPORTED for a
 * newer format, and for a file that is somebody else's.
 */
export function migrate(db: DatabaseSync, file: string, formats: Formats = FORMATS): void {
  const { migrations, newest } = formats;
  while (checkFormat(db, file, migrations.length) < migrations.length) {
    db.exec('BEGIN IMMEDIATE');
    // Looked up again: another process may have taken the step while this one waited to begin.
    const found = checkFormat(db, file, migrations.length);
    const atOnce = found === 0 && newest !== undefined;
    const next = atOnce ? migrations.length : Math.min(found + 1, migrations.length);
    db.exec(`${(atOnce ? newest : migrations[found]) ?? ''}; PRAGMA user_version = ${next}; COMMIT`);
  }
}

/** The format of a file that nobody else uses; DATA_FORMAT_UNSUPPORTED for one that is newer than `newest` or foreign. */
function checkFormat(db: DatabaseSync, file: string, newest: number): number {
  const found = formatOf(db);
  if (found > newest) throw formatNewer(file, found, newest);
  const { tables } = db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number };
  if (found === 0 && tables > 0) {
    throw unsupported(file, 'it is a database, but not one of Heddle. Choose another data folder');
  }
  return found;
}

/** Refuses every format but the newest: for those who may not migrate. */
export function expectNewest(db: DatabaseSync, file: string, newest = MIGRATIONS.length): void {
  const found = formatOf(db);
  if (found > newest) throw formatNewer(file, found, newest);
  if (found < newest) {
    throw unsupported(
      file,
      `it has the older format ${found}, and this version reads format ${newest}. Start an engine of this version on the data folder once: it converts the file`,
    );
  }
}

function formatNewer(file: string, found: number, newest: number): EngineError {
  return unsupported(
    file,
    `it has format ${found}, and this version of Heddle knows formats up to ${newest}. Use the newer version that wrote it, or choose another data folder`,
  );
}

function unsupported(file: string, why: string): EngineError {
  return new EngineError('DATA_FORMAT_UNSUPPORTED', `The file "${file}" cannot be read: ${why}.`, {
    details: { file },
  });
}
