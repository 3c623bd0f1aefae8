import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { EngineError } from '@heddle/core';
import type { Clock } from '@heddle/core';
import { fileError, sqliteCode, systemError } from './sqlite/errors.ts';
import { loadSqlite } from './sqlite/load.ts';

/** The process that runs a data folder. */
export interface DataOwner {
  pid: number;
  hostname: string;
  /** ISO 8601. */
  startedAt: string;
  /** Of an owner that does not take up the open runs of the folder: the earlier ones that it has opened. Absent: all. */
  opened?: readonly string[];
}

export interface DataLock {
  release(): void;
}

export interface OwnerLock extends DataLock {
  /** Tells visitors that only new runs and these earlier ones are run. */
  recordOpenedRuns(runIds: readonly string[]): void;
}

/** The lock of a process that takes the folder for itself, and of one that shares it with others of its kind. */
const LOCKS = {
  alone: 'BEGIN EXCLUSIVE',
  // A lock for reading lasts as long as its transaction, and begins with the first thing that is read.
  shared: 'BEGIN; SELECT count(*) FROM sqlite_schema',
} as const;

const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_CANTOPEN = 14;
/** An owner that is just closing, or somebody who looks whether there is one, needs a moment. */
const PATIENCE_MS = 100;
/** One that shares must outwait others who try in vain to have the folder alone, and keep newcomers out meanwhile. */
const SHARED_PATIENCE_MS = 10 * PATIENCE_MS;

/**
 * The right to run the data folder, for this process alone; DATA_LOCKED, naming the owner, when another one has it.
 *
 * The lock is SQLite's on an empty file of its own: the operating system drops it when the process dies, however it
 * dies, so no stale lock can remain. Nothing but SQLite may open that file in the owner's process, since on POSIX
 * systems closing any descriptor of it drops the lock (SQLite sees to its own). Who owns it, and
 * which runs it does not run, stands in `owner.json`, for people only.
 */
export function lockData(data: string, clock: Clock): OwnerLock {
  const info = join(data, 'owner.json');
  const db = take('alone', data);
  const startedAt = new Date(clock.now()).toISOString();
  const tell = (more: Pick<DataOwner, 'opened'>): void => {
    const owner: DataOwner = { pid: process.pid, hostname: hostname(), startedAt, ...more };
    try {
      writeFileSync(`${info}.new`, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
      renameSync(`${info}.new`, info);
    } catch (error) {
      throw systemError(error, info);
    }
  };
  try {
    tell({});
  } catch (error) {
    db.close();
    throw error;
  }
  return {
    recordOpenedRuns: (opened) => tell({ opened }),
    release() {
      if (!db.isOpen) return;
      rmSync(info, { force: true });
      db.close();
    },
  };
}

/** True for runs of the folder that its owner runs, by id and time of creation; undefined where the folder has no owner. */
export function ownedRuns(data: string): ((runId: string, createdMs: number) => boolean) | undefined {
  if (!isOwned(data)) return undefined;
  const { startedAt, opened } = readOwner(join(data, 'owner.json')) ?? {};
  // An owner that has only just come takes up what there is, as far as is known.
  if (startedAt === undefined || !opened) return () => true;
  return (runId, createdMs) => createdMs >= Date.parse(startedAt) || opened.includes(runId);
}

/**
 * The right to run the data folder together with others that share it; DATA_LOCKED when a process has it alone. Like
 * the owner's lock it goes with its process.
 */
export function shareData(data: string): DataLock {
  const db = take('shared', data);
  return {
    release() {
      if (db.isOpen) db.close();
    },
  };
}

/** True while a process, this one or another, runs the data folder alone. Only looks: it writes nothing and keeps nobody out. */
export function isOwned(data: string): boolean {
  const file = join(data, 'lock.db');
  if (!existsSync(file)) return false;
  const { DatabaseSync: Database } = loadSqlite();
  let db: DatabaseSync | undefined;
  try {
    db = new Database(file, { readOnly: true, timeout: 0 });
    // Reading needs a shared lock, which the owner's exclusive one refuses.
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
 * True while processes of this machine run the data folder together. To look means to try to have it alone for a
 * moment, which those who come to share it wait out; who may not write the folder is told false.
 */
export function isShared(data: string): boolean {
  const file = join(data, 'lock.db');
  if (!existsSync(file) || isOwned(data)) return false;
  const { DatabaseSync: Database } = loadSqlite();
  let db: DatabaseSync | undefined;
  try {
    db = new Database(file, { timeout: 0 });
    db.exec(LOCKS.alone);
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    if (isRefused(error)) return false;
    throw fileError(error, file) ?? error;
  } finally {
    db?.close();
  }
}

function isRefused(error: unknown): boolean {
  return [SQLITE_READONLY, SQLITE_CANTOPEN].includes((sqliteCode(error) ?? 0) & 0xff);
}

function isBusy(error: unknown): boolean {
  return ((sqliteCode(error) ?? 0) & 0xff) === SQLITE_BUSY;
}

function take(how: keyof typeof LOCKS, data: string): DatabaseSync {
  const { DatabaseSync: Database } = loadSqlite();
  const file = join(data, 'lock.db');
  let db: DatabaseSync | undefined;
  try {
    db = new Database(file, { timeout: how === 'alone' ? PATIENCE_MS : SHARED_PATIENCE_MS });
    db.exec(LOCKS[how]);
    return db;
  } catch (error) {
    db?.close();
    if (!isBusy(error)) throw fileError(error, file) ?? error;
    // Whoever may still read it is kept out by those who share it.
    throw how === 'alone' && !isOwned(data) ? lockedByMany(data) : locked(data, how);
  }
}

/** The owner as it wrote itself down; undefined while it has not yet, or when what stands there is of a dead one. */
function readOwner(info: string): DataOwner | undefined {
  try {
    const owner = JSON.parse(readFileSync(info, 'utf8')) as DataOwner;
    if (owner.hostname === hostname()) process.kill(owner.pid, 0);
    return owner;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return undefined;
    return JSON.parse(readFileSync(info, 'utf8')) as DataOwner;
  }
}

function locked(data: string, how: keyof typeof LOCKS): EngineError {
  const owner = readOwner(join(data, 'owner.json'));
  const who = owner
    ? `process ${owner.pid} on ${owner.hostname} (since ${owner.startedAt})`
    : 'another process, which has just started';
  return new EngineError(
    'DATA_LOCKED',
    `The data folder "${data}" is being run by ${who}, which has it alone. ` +
      `Wait until it ends, stop it, ${how === 'shared' ? 'have it share the folder too, ' : ''}or use another data folder. ` +
      'Runs in this folder can still be listed, shown, tailed, cancelled and resumed.',
    {
      details: {
        data,
        ...(owner && { pid: owner.pid, hostname: owner.hostname, startedAt: owner.startedAt }),
      },
    },
  );
}

function lockedByMany(data: string): EngineError {
  return new EngineError(
    'DATA_LOCKED',
    `The data folder "${data}" is shared by other processes, and none may run it alone meanwhile. ` +
      'Wait until they end, stop them, share it as well, or use another data folder. ' +
      'Runs in this folder can still be listed, shown and tailed.',
    { details: { data, shared: true } },
  );
}
