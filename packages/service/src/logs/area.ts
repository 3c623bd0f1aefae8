import { setTimeout as sleep } from 'node:timers/promises';
import { withoutCredentials } from '@heddle/api/drafts';
import type { AnyOperation, ApiStore } from '@heddle/api';
import type { JsonObject } from '@heddle/core';
import type { Engine } from '@heddle/engine';
import type { Kysely } from 'kysely';
import { interval } from '../interval.ts';
import { LogIndexer } from './indexer.ts';
import { logOperations } from './operations.ts';
import { RunRetention } from './retention.ts';
import type { RetentionLimits } from './retention.ts';
import type { LogTables } from './tables.ts';

/** The parts of the log of runs. */
export interface LogOptions {
  engine: Engine;
  /** Opened with `openServiceStore`. */
  store: ApiStore;
  /** How long runs are kept. Default: for ever. */
  retention?: RetentionLimits;
  now?: () => number;
  /** Calls `beat` every `ms` milliseconds. Returns a function that stops it. */
  every?: (ms: number, beat: () => void) => () => void;
  /** Receives errors that reach no caller. */
  onError: (error: unknown) => void;
}

/** The log of runs: its operations for `createApi`, its index and its retention. */
export interface Logs {
  operations: readonly AnyOperation[];
  /** Stops background work. Closes neither the engine nor the store. */
  close(): Promise<void>;
}

/** Pause between two deletions, in which runs go on. */
const PAUSE_MS = 5;

/** Begins to index the runs of the engine. Throws a RangeError for a retention limit that is too small. */
export function openLogs(options: LogOptions): Logs {
  const { engine, store, retention, now = Date.now, every = interval, onError: report } = options;
  const db = store.database as Kysely<LogTables>;
  const indexer = new LogIndexer({ engine, db, every, report });
  const hasLimits = retention?.maxAgeMs !== undefined || retention?.maxBytes !== undefined;
  const sweeper = hasLimits
    ? new RunRetention({
        ...{ engine, db, now, every, report },
        limits: retention,
        index: () => indexer.updateAll(),
        pause: () => sleep(PAUSE_MS),
      })
    : undefined;
  const services = {
    ...{ engine, db, indexer, now },
    withoutCredentials: (graph: JsonObject) => withoutCredentials(graph as never) as unknown as JsonObject,
  };
  return {
    operations: logOperations(services, store),
    close: async () => {
      await sweeper?.close();
      await indexer.close();
    },
  };
}
