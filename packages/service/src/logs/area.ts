import type { Area, AreaContext } from '@heddle/api';
import type { JsonObject } from '@heddle/core';
import type { Kysely } from 'kysely';
import { LogIndexer } from './indexer.ts';
import { redactCredentials } from '../workflows/redact.ts';
import {
  downloadRunValue,
  followRun,
  getRunOverview,
  getRunStates,
  getRunValue,
  listRunSpans,
} from './inspect/operations.ts';
import { TraceCache } from './inspect/trace-cache.ts';
import type { LogServices } from './logs.ts';
import { LOG_MIGRATIONS } from './migrations.ts';
import { getLog, getLogStats, listLogsOperation, searchLogsOperation } from './operations.ts';
import type { LogTables } from './tables.ts';
import { Triggers } from '../triggers/triggers.ts';

export const LOG_OPERATIONS = {
  listLogs: listLogsOperation,
  searchLogs: searchLogsOperation,
  getLogStats,
  getLog,
  getRunOverview,
  listRunSpans,
  getRunStates,
  getRunValue,
  downloadRunValue,
  followRun,
} as const;

export interface LogAreaServices extends LogServices {
  /** Stops background work. */
  close(): Promise<void>;
}

/**
 * Returns the area (a module of API operations with its own tables) of the log of runs. Pass the same `triggers` to the
 * areas of workflows and triggers.
 */
export function logs({ triggers = new Triggers() }: { triggers?: Triggers } = {}): Area<
  LogAreaServices,
  typeof LOG_OPERATIONS
> {
  return {
    name: 'logs',
    operations: LOG_OPERATIONS,
    migrations: LOG_MIGRATIONS,
    services: (context) => openLogs(context, triggers),
    close: (services) => services.close(),
  };
}

function openLogs(
  { engine, access, database, now, repeat, onError }: AreaContext,
  triggers: Triggers,
): LogAreaServices {
  const db = database as Kysely<LogTables>;
  const indexer = new LogIndexer({ engine, db, repeat, onError, now, triggers });
  return {
    ...{ engine, access, db, indexer, now, onError, traces: new TraceCache(engine, now) },
    redactCredentials: (graph: JsonObject) => redactCredentials(graph as never) as unknown as JsonObject,
    close: () => indexer.close(),
  };
}
