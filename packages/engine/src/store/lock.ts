import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { EngineError } from '@heddle/core';
import type { Clock } from '@heddle/core';
import { fileError, sqliteCode, systemError } from './sqlite/errors.ts';
import { loadSqlite } from './sqlite/load.ts';

/** The process that owns a data folder, as `owner.json` records it. */
export interface DataOwner {
  pid: number;
  hostname: string;
  /** ISO 8601. */
  startedAt: string;
  /**
   * Ids of the earlier runs that the owner executes, besides new ones. Absent: it executes all unfinished runs.
   */
  opened?: readonly string[];
}

export interface DataLock {
  release(): void;
}

export interface OwnerLock extends DataLock {
  /** Publishes to other processes that the owner executes only new runs and these earlier ones. */
  recordOpenedRuns(runIds: readonly string[]): void;
}

/** The statements that take the lock: exclusively, or shared with other processes. */
const LOCK_STATEMENTS = {
  exclusive: 'BEGIN EXCLUSIVE',
  // A transaction holds its read lock from the first read to its end.
  shared: 'BEGIN; SELECT count(*) FROM sqlite_schema',
} as const;

const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_CANTOPEN = 14;
/** Time for an owner that is closing to release the lock, or for another process to finish its check of the lock. */
const LOCK_TIMEOUT_MS = 100;
/** Longer than `LOCK_TIMEOUT_MS`: an attempt to lock exclusively blocks new readers until it fails. */
const SHARED_LOCK_TIMEOUT_MS = 10 * LOCK_TIMEOUT_MS;

/**
 * Locks the data folder for this process alone. Throws DATA_LOCKED, with the owner in the message, if another process
 * has locked it.
 *
 * The lock is SQLite's lock on an empty file. The operating system releases it when the process dies, so a stale lock
 * cannot remain. Only SQLite may open that file in the owner's process: on POSIX systems, closing any descriptor of the
 * file releases the lock (SQLite prevents this for its own descriptors). `owner.json` names the owner and the runs that
 * it executes; it is only informational and has no effect on the lock.
 */
export function lockData(dataFolder: string, clock: Clock): OwnerLock {
  const ownerFile = join(dataFolder, 'owner.json');
  const db = acquireLock('exclusive', dataFolder);
  const startedAt = new Date(clock.now()).toISOString();
  const writeOwner = (openedRuns: Pick<DataOwner, 'opened'>): void => {
    const owner: DataOwner = { pid: process.pid, hostname: hostname(), startedAt, ...openedRuns };
    try {
      writeFileSync(`${ownerFile}.new`, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
      renameSync(`${ownerFile}.new`, ownerFile);
    } catch (error) {
      throw systemError(error, ownerFile);
    }
  };
  try {
    writeOwner({});
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    recordOpenedRuns: (opened) => writeOwner({ opened }),
    release() {
      if (!db.isOpen) return;
      rmSync(ownerFile, { force: true });
      db.close();
    },
  };
}

/**
 * Returns a predicate for runs: true if the owner of the folder executes the run. Returns undefined if the folder has
 * no owner.
 */
export function ownedRunFilter(
  dataFolder: string,
): ((runId: string, createdMs: number) => boolean) | undefined {
  if (!isOwned(dataFolder)) return undefined;
  const { startedAt, opened } = readOwner(join(dataFolder, 'owner.json')) ?? {};
  // An owner that has not written its file yet is assumed to execute all runs.
  if (startedAt === undefined || !opened) return () => true;
  return (runId, createdMs) => createdMs >= Date.parse(startedAt) || opened.includes(runId);
}

/**
 * Locks the data folder together with other processes that share it. Throws DATA_LOCKED if a process has locked it
 * exclusively. The operating system also releases this lock when the process dies.
 */
export function lockDataShared(dataFolder: string): DataLock {
  const db = acquireLock('shared', dataFolder);
  return {
    release() {
      if (db.isOpen) db.close();
    },
  };
}

/**
 * True while a process, this one or another, has locked the data folder exclusively. Writes nothing and blocks no other
 * process.
 */
export function isOwned(dataFolder: string): boolean {
  const file = join(dataFolder, 'lock.db');
  if (!existsSync(file)) return false;
  const { DatabaseSync: Database } = loadSqlite();
  let db: DatabaseSync | undefined;
  try {
    db = new Database(file, { readOnly: true, timeout: 0 });
    // A read needs a shared lock, which an exclusive lock excludes.
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw fileError(error, file) ?? error;
  } finally {
    db?.close();
  }
}

/**
 * True while processes of this machine share the data folder. The check takes the exclusive lock for a moment;
 * processes that start to share the folder wait for it. False if this process may not write to the folder.
 */
export function isShared(dataFolder: string): boolean {
  const file = join(dataFolder, 'lock.db');
  if (!existsSync(file) || isOwned(dataFolder)) return false;
  const { DatabaseSync: Database } = loadSqlite();
  let db: DatabaseSync | undefined;
  try {
    db = new Database(file, { timeout: 0 });
    db.exec(LOCK_STATEMENTS.exclusive);
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    if (isReadOnly(error)) return false;
    throw fileError(error, file) ?? error;
  } finally {
    db?.close();
  }
}

function isReadOnly(error: unknown): boolean {
  return [SQLITE_READONLY, SQLITE_CANTOPEN].includes((sqliteCode(error) ?? 0) & 0xff);
}

function isBusy(error: unknown): boolean {
  return ((sqliteCode(error) ?? 0) & 0xff) === SQLITE_BUSY;
}

function acquireLock(mode: keyof typeof LOCK_STATEMENTS, dataFolder: string): DatabaseSync {
  const { DatabaseSync: Database } = loadSqlite();
  const file = join(dataFolder, 'lock.db');
  let db: DatabaseSync | undefined;
  try {
    db = new Database(file, { timeout: mode === 'exclusive' ? LOCK_TIMEOUT_MS : SHARED_LOCK_TIMEOUT_MS });
    db.exec(LOCK_STATEMENTS[mode]);
    return db;
  } catch (error) {
    db?.close();
    if (!isBusy(error)) throw fileError(error, file) ?? error;
    // If the file can still be read, the other lock is a shared one.
    throw mode === 'exclusive' && !isOwned(dataFolder)
      ? folderSharedError(dataFolder)
      : folderLockedError(dataFolder, mode);
  }
}

/** Returns the owner from its own record; undefined if there is no record yet, or if its process is dead. */
function readOwner(file: string): DataOwner | undefined {
  try {
    const owner = JSON.parse(readFileSync(file, 'utf8')) as DataOwner;
    if (owner.hostname === hostname()) process.kill(owner.pid, 0);
    return owner;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined;
    return JSON.parse(readFileSync(file, 'utf8')) as DataOwner;
  }
}

function folderLockedError(dataFolder: string, mode: keyof typeof LOCK_STATEMENTS): EngineError {
  const owner = readOwner(join(dataFolder, 'owner.json'));
  const holder = owner
    ? `process ${owner.pid} on ${owner.hostname} (since ${owner.startedAt})`
    : 'another process, which has just started';
  return new EngineError(
    'DATA_LOCKED',
    `The data folder "${dataFolder}" is locked by ${holder}. ` +
      `Wait until it ends, stop it, ${mode === 'shared' ? 'start it so that it shares the folder, ' : ''}or use another data folder. ` +
      'Runs in this folder can still be listed, shown, followed, cancelled and resumed.',
    {
      details: {
        data: dataFolder,
        ...(owner && { pid: owner.pid, hostname: owner.hostname, startedAt: owner.startedAt }),
      },
    },
  );
}

function folderSharedError(dataFolder: string): EngineError {
  return new EngineError(
    'DATA_LOCKED',
    `The data folder "${dataFolder}" is shared by other processes, so this process cannot lock it for itself. ` +
      'Wait until they end, stop them, share it as well, or use another data folder. ' +
      'Runs in this folder can still be listed, shown and followed.',
    { details: { data: dataFolder, shared: true } },
  );
}
