import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { EngineError } from '@heddle/core';
import type { Clock } from '@heddle/core';
import { systemClock } from '../clock.ts';
import { lockData, shareData } from './lock.ts';
import type { DataLock } from './lock.ts';
import { MemoryControlStore } from './memory-control.ts';
import { MemoryDefinitionStore, MemoryRunStore, MemoryValueStore } from './memory.ts';
import { makePrivateData, makePrivateFile } from './private-files.ts';
import { GroupCommit } from './sqlite/commit.ts';
import { SqliteControlStore } from './sqlite/control.ts';
import type { Writer } from './sqlite/control.ts';
import { withFileErrors, openDatabase } from './sqlite/database.ts';
import { SqliteDefinitionStore } from './sqlite/definitions.ts';
import { ChangeNotifier } from './sqlite/change-notifier.ts';
import { systemError } from './sqlite/errors.ts';
import { expectNewest, formatOf, migrate } from './sqlite/migrations.ts';
import { SqliteRunStore } from './sqlite/runs.ts';
import { ValueFiles } from './sqlite/value-files.ts';
import { SqliteValueStore } from './sqlite/values.ts';
import type { Durability, Stores } from './stores.ts';

export interface StoreOptions {
  /** The data folder; undefined: everything stays in memory. */
  data?: string | undefined;
  /** Default `process`. */
  durability?: Durability | undefined;
  clock?: Clock | undefined;
  /** For processes beside the owner: reads what is there, and may ask through `control`. A folder without data reads as empty. */
  readOnly?: boolean | undefined;
  /** Other processes of this machine that share the folder read and write it at the same time, and none has it alone. */
  shared?: boolean | undefined;
  /** Told of faults of the file in the background, which no caller waits for. */
  onError?: ((error: unknown) => void) | undefined;
}

/**
 * The stores of a data folder, or of this process's memory.
 *
 * Without `readOnly` and `shared` the caller becomes the owner that runs the folder, until `close`: DATA_LOCKED when
 * another process is, or when others share it; with `shared`, when another process is the owner. DATA_FORMAT_UNSUPPORTED for a file of another format, DATA_UNWRITABLE when the folder cannot be used.
 */
export function openStores(options: StoreOptions = {}): Stores {
  const { data, durability = 'process', clock = systemClock, onError = () => undefined } = options;
  if (data === undefined) {
    if (!options.shared) return memoryStores(clock);
    throw new EngineError(
      'OPTIONS_INVALID',
      'What is in memory cannot be shared. Name the data folder (`data`).',
    );
  }
  const place = { data, file: join(data, 'heddle.db'), durability, clock, onError };
  if (options.readOnly) return visit(place);
  return take(place, options.shared === true);
}

interface StoreLocation {
  data: string;
  file: string;
  durability: Durability;
  clock: Clock;
  onError: (error: unknown) => void;
}

function memoryStores(clock: Clock): Stores {
  const runs = new MemoryRunStore();
  return {
    runs,
    definitions: new MemoryDefinitionStore(),
    values: new MemoryValueStore(runs, clock),
    control: new MemoryControlStore(clock),
    close: () => undefined,
  };
}

function take(place: StoreLocation, shared: boolean): Stores {
  try {
    makePrivateData(place.data, place.onError);
    makePrivateFile(join(place.data, 'lock.db'));
  } catch (error) {
    throw systemError(error, place.data);
  }
  return shared ? locked(place, shareData(place.data), true) : owned(place);
}

function owned(place: StoreLocation): Stores {
  const lock = lockData(place.data, place.clock);
  return { ...locked(place, lock, false), recordOpenedRuns: (runIds) => lock.recordOpenedRuns(runIds) };
}

function locked(place: StoreLocation, lock: DataLock, shared: boolean): Stores {
  try {
    return openLocked(place, lock, shared);
  } catch (error) {
    lock.release();
    throw error;
  }
}

function openLocked(place: StoreLocation, lock: DataLock, shared: boolean): Stores {
  makePrivateFile(place.file);
  const { db, commit } = connect(place, (fresh) => migrate(fresh, place.file));
  const files = valueFiles(place);
  // What looks left behind may be somebody's who is writing it.
  if (!shared) files.removeUnfinished();
  const { stores, control } = assemble(place, db, { commit, files, writer: () => ({ db, commit }) });
  // Old outcomes only take room, so nobody has to wait until they are gone.
  control.prune().catch(place.onError);
  return {
    ...stores,
    close() {
      control.close();
      commit.close();
      if (db.isOpen) db.close();
      lock.release();
    },
  };
}

function visit(place: StoreLocation): Stores {
  if (!existsSync(place.file)) return memoryStores(place.clock);
  const db = openDatabase(place.file, { readOnly: true, durability: place.durability });
  try {
    return visitOpen(place, db);
  } catch (error) {
    db.close();
    throw error;
  }
}

function visitOpen(place: StoreLocation, db: DatabaseSync): Stores {
  // The owner is about to create the first format.
  if (withFileErrors(place.file, () => formatOf(db)) === 0) {
    db.close();
    return memoryStores(place.clock);
  }
  expectNewest(db, place.file);
  let asking: Writer | undefined;
  const writer = (): Writer => (asking ??= connect(place, (found) => expectNewest(found, place.file)));
  const commit = new GroupCommit(db, place.file);
  const { stores } = assemble(place, db, { commit, files: valueFiles(place), writer });
  return {
    ...stores,
    close() {
      for (const connection of [asking, { db, commit }]) {
        connection?.commit.close();
        if (connection?.db.isOpen) connection.db.close();
      }
    },
  };
}

function connect(place: StoreLocation, prepare: (db: DatabaseSync) => void): Writer {
  const db = openDatabase(place.file, { readOnly: false, durability: place.durability });
  try {
    withFileErrors(place.file, () => prepare(db));
    return { db, commit: new GroupCommit(db, place.file) };
  } catch (error) {
    db.close();
    throw error;
  }
}

function valueFiles(place: StoreLocation): ValueFiles {
  return new ValueFiles(join(place.data, 'values'), place.durability);
}

function assemble(
  place: StoreLocation,
  db: DatabaseSync,
  parts: { commit: GroupCommit; files: ValueFiles; writer: () => Writer },
): { stores: Omit<Stores, 'close'>; control: SqliteControlStore } {
  const { file, clock, onError } = place;
  const { commit, files, writer } = parts;
  const control = new SqliteControlStore({
    file,
    db,
    writer,
    bell: new ChangeNotifier(place.data),
    clock,
    onError,
  });
  const stores = {
    runs: new SqliteRunStore(db, file, commit),
    definitions: new SqliteDefinitionStore(db, file, commit),
    values: new SqliteValueStore(db, { file, files, clock }, commit),
    control,
  };
  return { stores, control };
}
