import { EngineError } from '@heddle/core';

/** Primary result codes of SQLite (https://sqlite.org/rescode.html) that say something about the file, not about the statement. */
const FILE_FAULTS: Readonly<Record<number, string>> = {
  3: 'access to it is denied. Check the rights of the data folder',
  5: 'another process keeps it locked. Stop the process that holds it, then try again',
  6: 'another connection keeps it locked. Try again',
  7: 'there is not enough memory. Free some, then try again',
  8: 'it is read-only, or was opened for reading. Check the rights of the data folder',
  10: 'the disk reports an error. Check the disk and the space on it, then try again',
  13: 'the disk is full. Free some space, then try again',
  14: 'it cannot be opened. Check that the data folder exists and may be written',
};
const DAMAGED: ReadonlySet<number> = new Set([11, 26]);

/** Extended result code of the constraint. */
export const FOREIGN_KEY = 787;

/** The extended result code of an error of node:sqlite; undefined for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code : undefined;
}

/** ENGINE_CLOSED for work on a closed data folder. */
export function storeClosed(): EngineError {
  return new EngineError('ENGINE_CLOSED', 'The data folder is closed. Open it again before you use it.');
}

/**
 * DATA_UNWRITABLE or JOURNAL_CORRUPT for a fault of the file or its disk, ENGINE_CLOSED for a closed connection;
 * undefined when the error is about something else.
 */
export function fileError(error: unknown, file: string): EngineError | undefined {
  const code = sqliteCode(error);
  if (code === undefined) {
    const closed = (error as NodeJS.ErrnoException | null)?.code === 'ERR_INVALID_STATE';
    return closed ? storeClosed() : undefined;
  }
  const primary = code & 0xff;
  if (DAMAGED.has(primary)) {
    return new EngineError(
      'JOURNAL_CORRUPT',
      `The file "${file}" is damaged or no data file of Heddle. Restore the data folder from a backup, or choose another one.`,
      { details: { file }, cause: error },
    );
  }
  const fault = FILE_FAULTS[primary];
  if (fault === undefined) return undefined;
  return fileUnwritable(file, fault, error);
}

/** DATA_UNWRITABLE; `fault` goes on from "cannot be used:" and says what to do. */
export function fileUnwritable(file: string, fault: string, cause: unknown): EngineError {
  return new EngineError('DATA_UNWRITABLE', `The file "${file}" cannot be used: ${fault}.`, {
    details: { file },
    cause,
  });
}

const SYSTEM_FAULTS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full. Free some space, then try again',
  EDQUOT: 'the quota of the disk is used up. Free some space, then try again',
  EFBIG: 'it would exceed the file size that this process may write. Raise the limit, then try again',
  EACCES: 'access to it is denied. Check the rights of the data folder',
  EPERM: 'access to it is denied. Check the rights of the data folder',
  EROFS: 'the file system is read-only. Choose another data folder',
};

/** DATA_UNWRITABLE for an error of Node's file functions. */
export function systemError(error: unknown, file: string): EngineError {
  const { code, message } = error as NodeJS.ErrnoException;
  return fileUnwritable(file, SYSTEM_FAULTS[code ?? ''] ?? `${message}. Check the data folder`, error);
}
