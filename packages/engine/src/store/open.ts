import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { EngineError } from '@heddle/core';
import type { Clock } from '@heddle/core';
import { systemClock } from '../clock.ts';
import { lockData, lockDataShared } from './lock.ts';
import type { DataLock } from './lock.ts';
import { MemoryControlStore, MemoryDefinitionStore, MemoryRunStore, MemoryValueStore } from './memory.ts';
import { MemoryLiveEvents } from './memory-live-events.ts';
import { MemoryConversations, MemoryRates, MemorySpending } from './memory-model-data.ts';
import { MemoryRunChanges } from './memory-run-changes.ts';
import { makeDataFolderPrivate, makePrivateFile } from './private-files.ts';
import { ChangeNotifier } from './sqlite/change-notifier.ts';
import { GroupCommit } from './sqlite/commit.ts';
import { SqliteControlStore } from './sqlite/control.ts';
import type { WriteConnection } from './sqlite/control.ts';
import { SqliteConversations } from './sqlite/conversations.ts';
import { openDatabase, withFileErrors } from './sqlite/database.ts';
import { SqliteDefinitionStore } from './sqlite/definitions.ts';
import { systemError } from './sqlite/errors.ts';
import { requireNewestFormat, formatOf, migrate } from './sqlite/migrations.ts';
import { SqliteLiveEvents } from './sqlite/live-events.ts';
import { SqliteRates } from './sqlite/rates.ts';
import { SqliteSpending } from './sqlite/spending.ts';
import { SqliteRunChanges } from './sqlite/run-changes.ts';
import { SqliteRunStore } from './sqlite/runs.ts';
import { ValueFiles } from './sqlite/value-files.ts';
import { SqliteValueStore } from './sqlite/values.ts';
import type { Durability, Stores } from './stores.ts';

export interface StoreOptions {
  /** The data folder; undefined: memory. */
  data?: string | undefined;
  /** Default `process`. */
  durability?: Durability | undefined;
  clock?: Clock | undefined;
  /**
   * For processes other than the owner: reads the folder, and can add requests to `control`. A folder without data
   * reads as empty.
   */
  readOnly?: boolean | undefined;
  /** True: other processes of this machine may use the folder at the same time, and no process owns it. */
  shared?: boolean | undefined;
  /** Receives I/O errors of background work, and an error for each path that other users can still access. */
  onError?: ((error: unknown) => void) | undefined;
}

/**
 * Returns the stores of a data folder, or of the memory of this process.
 *
 * Without `readOnly` and `shared`, this process owns the folder until `close`. Throws DATA_LOCKED if another process
 * owns the folder, or if others share it and this process does not; DATA_FORMAT_UNSUPPORTED for a file that cannot be
 * migrated, or that a reader would have to migrate; JOURNAL_CORRUPT for a file that is not a database; DATA_UNWRITABLE
 * if the folder cannot be used; OPTIONS_INVALID for shared stores in memory.
 */
export function openStores(options: StoreOptions = {}): Stores {
  const {
    data: dataFolder,
    durability = 'process',
    clock = systemClock,
    onError = () => undefined,
  } = options;
  if (dataFolder === undefined) {
    if (!options.shared) return createMemoryStores(clock);
    throw new EngineError(
      'OPTIONS_INVALID',
      'Stores in memory cannot be shared. Name the data folder (`data`).',
    );
  }
  const settings = { dataFolder, file: join(dataFolder, 'heddle.db'), durability, clock, onError };
  if (options.readOnly) return openReadOnly(settings);
  return openReadWrite(settings, options.shared === true);
}

interface FolderSettings {
  dataFolder: string;
  file: string;
  durability: Durability;
  clock: Clock;
  onError: (error: unknown) => void;
}

function createMemoryStores(clock: Clock): Stores {
  const changes = new MemoryRunChanges();
  const runs = new MemoryRunStore(changes);
  return {
    runs,
    changes,
    conversations: new MemoryConversations(),
    liveEvents: new MemoryLiveEvents(clock),
    spending: new MemorySpending(),
    rates: new MemoryRates(),
    definitions: new MemoryDefinitionStore(),
    values: new MemoryValueStore(runs, clock),
    control: new MemoryControlStore(clock),
    close: () => undefined,
  };
}

function openReadWrite(settings: FolderSettings, isShared: boolean): Stores {
  const { dataFolder, clock, onError } = settings;
  try {
    makeDataFolderPrivate(dataFolder, onError);
    makePrivateFile(join(dataFolder, 'lock.db'));
  } catch (error) {
    throw systemError(error, dataFolder);
  }
  if (isShared) return withLock(settings, lockDataShared(dataFolder), true);
  const lock = lockData(dataFolder, clock);
  return {
    ...withLock(settings, lock, false),
    recordOpenedRuns: (runIds) => lock.recordOpenedRuns(runIds),
  };
}

/** Returns the stores, which release the lock when they are closed or cannot be opened. */
function withLock(settings: FolderSettings, lock: DataLock, isShared: boolean): Stores {
  try {
    return openLockedFolder(settings, lock, isShared);
  } catch (error) {
    lock.release();
    throw error;
  }
}

function openLockedFolder(settings: FolderSettings, lock: DataLock, isShared: boolean): Stores {
  makePrivateFile(settings.file);
  const { db, commit } = connect(settings, (connection) => migrate(connection, settings.file));
  const files = createValueFiles(settings);
  // In a shared folder, another process may be writing an unfinished file.
  if (!isShared) files.removeUnfinishedFiles();
  const liveEvents = new SqliteLiveEvents(settings.dataFolder, { clock: settings.clock, canWrite: true });
  const stores = createStores(settings, db, {
    commit,
    files,
    liveEvents,
    getWriteConnection: () => ({ db, commit }),
  });
  // Runs in the background, because old outcomes only take space.
  stores.control.prune().catch(settings.onError);
  return {
    ...stores,
    close() {
      liveEvents.close();
      commit.close();
      if (db.isOpen) db.close();
      lock.release();
    },
  };
}

function openReadOnly(settings: FolderSettings): Stores {
  if (!existsSync(settings.file)) return createMemoryStores(settings.clock);
  const db = openDatabase(settings.file, { readOnly: true, durability: settings.durability });
  try {
    return createReadOnlyStores(settings, db);
  } catch (error) {
    db.close();
    throw error;
  }
}

function createReadOnlyStores(settings: FolderSettings, db: DatabaseSync): Stores {
  // The owner has created the file but not the tables yet.
  if (withFileErrors(settings.file, () => formatOf(db)) === 0) {
    db.close();
    return createMemoryStores(settings.clock);
  }
  requireNewestFormat(db, settings.file);
  let writeConnection: WriteConnection | undefined;
  const getWriteConnection = (): WriteConnection =>
    (writeConnection ??= connect(settings, (connection) => requireNewestFormat(connection, settings.file)));
  const commit = new GroupCommit(db, settings.file);
  const liveEvents = new SqliteLiveEvents(settings.dataFolder, { clock: settings.clock, canWrite: false });
  const stores = createStores(settings, db, {
    commit,
    files: createValueFiles(settings),
    liveEvents,
    getWriteConnection,
  });
  return {
    ...stores,
    close() {
      liveEvents.close();
      for (const connection of [writeConnection, { db, commit }]) {
        connection?.commit.close();
        if (connection?.db.isOpen) connection.db.close();
      }
    },
  };
}

function connect(settings: FolderSettings, prepare: (db: DatabaseSync) => void): WriteConnection {
  const db = openDatabase(settings.file, { readOnly: false, durability: settings.durability });
  try {
    withFileErrors(settings.file, () => prepare(db));
    return { db, commit: new GroupCommit(db, settings.file) };
  } catch (error) {
    db.close();
    throw error;
  }
}

function createValueFiles(settings: FolderSettings): ValueFiles {
  return new ValueFiles(join(settings.dataFolder, 'values'), settings.durability);
}

function createStores(
  settings: FolderSettings,
  db: DatabaseSync,
  resources: {
    commit: GroupCommit;
    files: ValueFiles;
    liveEvents: SqliteLiveEvents;
    getWriteConnection: () => WriteConnection;
  },
): Omit<Stores, 'close'> {
  const { dataFolder, file, clock, onError } = settings;
  const { commit, files, liveEvents, getWriteConnection } = resources;
  const notifier = new ChangeNotifier(dataFolder, 'doorbell');
  return {
    runs: new SqliteRunStore(db, file, commit),
    definitions: new SqliteDefinitionStore(db, file, commit),
    values: new SqliteValueStore(db, { file, files, clock }, commit),
    changes: new SqliteRunChanges(db, file, commit),
    conversations: new SqliteConversations(db, file, commit),
    liveEvents,
    spending: new SqliteSpending(db, file, commit),
    rates: new SqliteRates(db, file, commit),
    control: new SqliteControlStore({ file, db, getWriteConnection, notifier, clock, onError }),
  };
}
