import { EngineError } from '@heddle/core';

/**
 * Explanations of the primary result codes of SQLite (https://sqlite.org/rescode.html) that concern the file and not
 * the statement.
 */
const FILE_ERROR_EXPLANATIONS: Readonly<Record<number, string>> = {
  3: 'access to it is denied. Check the permissions of the data folder',
  5: 'another process has locked it. Stop that process, then try again',
  6: 'another connection has locked it. Try again',
  7: 'the process is out of memory. Free some, then try again',
  8: 'it is read-only. Check the permissions of the data folder',
  10: 'the disk reports an error. Check the disk and the space on it, then try again',
  13: 'the disk is full. Free some space, then try again',
  14: 'it cannot be opened. Check that the data folder exists and is writable',
};
const CORRUPT_CODES: ReadonlySet<number> = new Set([11, 26]);

/** Extended result code of a violated foreign key. */
export const FOREIGN_KEY_VIOLATION = 787;

/** Returns the extended result code of a node:sqlite error; undefined for other errors. */
export function sqliteCode(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown } | null)?.errcode;
  return typeof code === 'number' ? code : undefined;
}

/** Returns the error ENGINE_CLOSED for calls to closed stores. */
export function storeClosedError(): EngineError {
  return new EngineError('ENGINE_CLOSED', 'The data folder is closed. Open it again before you use it.');
}

/**
 * Returns the error DATA_UNWRITABLE or JOURNAL_CORRUPT for an error of the file or the disk, ENGINE_CLOSED for a closed
 * connection; undefined for other errors.
 */
export function fileError(error: unknown, file: string): EngineError | undefined {
  const code = sqliteCode(error);
  if (code === undefined) {
    const isClosed = (error as NodeJS.ErrnoException | null)?.code === 'ERR_INVALID_STATE';
    return isClosed ? storeClosedError() : undefined;
  }
  const primaryCode = code & 0xff;
  if (CORRUPT_CODES.has(primaryCode)) {
    return new EngineError(
      'JOURNAL_CORRUPT',
      `The file "${file}" is corrupt, or it is not a data file of Heddle. Restore the data folder from a backup, or choose another one.`,
      { details: { file }, cause: error },
    );
  }
  const explanation = FILE_ERROR_EXPLANATIONS[primaryCode];
  return explanation === undefined ? undefined : unwritableFileError(file, explanation, error);
}

/** Returns the error DATA_UNWRITABLE for a file. `explanation` continues "cannot be used:" and says what to do. */
export function unwritableFileError(file: string, explanation: string, cause: unknown): EngineError {
  return new EngineError('DATA_UNWRITABLE', `The file "${file}" cannot be used: ${explanation}.`, {
    details: { file },
    cause,
  });
}

const SYSTEM_ERROR_EXPLANATIONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full. Free some space, then try again',
  EDQUOT: 'the disk quota is exhausted. Free some space, then try again',
  EFBIG: 'it would exceed the file size limit of this process. Raise the limit, then try again',
  EACCES: 'access to it is denied. Check the permissions of the data folder',
  EPERM: 'access to it is denied. Check the permissions of the data folder',
  EROFS: 'the file system is read-only. Choose another data folder',
};

/** Returns the error DATA_UNWRITABLE for an error of `node:fs`. */
export function systemError(error: unknown, file: string): EngineError {
  const { code, message } = error as NodeJS.ErrnoException;
  return unwritableFileError(
    file,
    SYSTEM_ERROR_EXPLANATIONS[code ?? ''] ?? `${message}. Check the data folder`,
    error,
  );
}
