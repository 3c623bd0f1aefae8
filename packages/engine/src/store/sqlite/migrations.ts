import type { DatabaseSync } from 'node:sqlite';
import { EngineError } from '@heddle/core';
import { FORMAT_1 } from './format-1.ts';
import {
  FORMAT_2,
  FROM_1_TO_2,
  FROM_2_TO_3,
  FROM_3_TO_4,
  FROM_4_TO_5,
  FROM_5_TO_6,
  FROM_6_TO_7,
} from './schema.ts';

/** The statements from format n (the index) to format n + 1. Items are only added, never changed. */
export const MIGRATIONS: readonly string[] = [
  FORMAT_1,
  FROM_1_TO_2,
  FROM_2_TO_3,
  FROM_3_TO_4,
  FROM_4_TO_5,
  FROM_5_TO_6,
  FROM_6_TO_7,
];

export interface Formats {
  migrations: readonly string[];
  /** The statements that create a new file directly in the newest format. */
  newestSchema?: string;
}

const FORMATS: Formats = {
  migrations: MIGRATIONS,
  newestSchema: `${FORMAT_2} ${FROM_2_TO_3} ${FROM_3_TO_4} ${FROM_4_TO_5} ${FROM_5_TO_6} ${FROM_6_TO_7}`,
};

/** Returns the format of the file; 0 for a new file. */
export function formatOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.['user_version']);
}

/**
 * Migrates the file to the newest format, one format per transaction. If several processes start at the same time, one
 * of them performs each step.
 *
 * Only for processes that hold the lock of the data folder: readers do not expect the format to change. Throws
 * DATA_FORMAT_UNSUPPORTED for a newer format, and for a file of another program.
 */
export function migrate(db: DatabaseSync, file: string, formats: Formats = FORMATS): void {
  const { migrations, newestSchema } = formats;
  while (checkFormat(db, file, migrations.length) < migrations.length) {
    db.exec('BEGIN IMMEDIATE');
    // Checked again, because another process may have performed the step while this process waited for the transaction.
    const format = checkFormat(db, file, migrations.length);
    const isNew = format === 0 && newestSchema !== undefined;
    const nextFormat = isNew ? migrations.length : Math.min(format + 1, migrations.length);
    db.exec(
      `${(isNew ? newestSchema : migrations[format]) ?? ''}; PRAGMA user_version = ${nextFormat}; COMMIT`,
    );
  }
}

/**
 * Returns the format of the file. Throws DATA_FORMAT_UNSUPPORTED for a format above `newestFormat`, and for a file of
 * another program.
 */
function checkFormat(db: DatabaseSync, file: string, newestFormat: number): number {
  const format = formatOf(db);
  if (format > newestFormat) throw newerFormatError(file, format, newestFormat);
  const { count } = db.prepare('SELECT count(*) AS count FROM sqlite_schema').get() as { count: number };
  if (format === 0 && count > 0) {
    throw unsupportedFormatError(file, 'it is a database, but not one of Heddle. Choose another data folder');
  }
  return format;
}

/** Throws DATA_FORMAT_UNSUPPORTED unless the file has the newest format. For processes that may not migrate it. */
export function requireNewestFormat(db: DatabaseSync, file: string, newestFormat = MIGRATIONS.length): void {
  const format = formatOf(db);
  if (format > newestFormat) throw newerFormatError(file, format, newestFormat);
  if (format < newestFormat) {
    throw unsupportedFormatError(
      file,
      `it has the older format ${format}, and this version reads format ${newestFormat}. Start an engine of this version on the data folder once: it migrates the file`,
    );
  }
}

function newerFormatError(file: string, format: number, newestFormat: number): EngineError {
  return unsupportedFormatError(
    file,
    `it has format ${format}, and this version of Heddle knows formats up to ${newestFormat}. Use the newer version that wrote it, or choose another data folder`,
  );
}

function unsupportedFormatError(file: string, reason: string): EngineError {
  return new EngineError('DATA_FORMAT_UNSUPPORTED', `The file "${file}" cannot be read: ${reason}.`, {
    details: { file },
  });
}
