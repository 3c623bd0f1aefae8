import { setTimeout as sleep } from 'node:timers/promises';
import type { Area, AreaContext } from '@heddle/api';
import type { JsonObject } from '@heddle/core';
import type { Kysely } from 'kysely';
import { LogIndexer } from './indexer.ts';
import { withoutCredentials } from '../workflows/redact.ts';
import type { LogServices } from './logs.ts';
import { LOG_MIGRATIONS } from './migrations.ts';
import { getLog, getLogStats, listLogsOperation } from './operations.ts';
import { RunRetention } from './retention.ts';
import type { RetentionLimits } from './retention.ts';
import type { LogTables } from './tables.ts';

export const LOGS = { listLogs: listLogsOperation, getLogStats, getLog } as const;

export interface OpenedLogs extends LogServices {
  /** Stops background work. */
  close(): Promise<void>;
}

/** Pause between two deletions, in which runs go on. */
const PAUSE_MS = 5;

/**
 * Returns the area of the log of runs, with its index and its retention. Throws a RangeError, when it is opened, for a
 * retention limit that is too small.
 */
export function logs(retention: RetentionLimits = {}): Area<OpenedLogs, typeof LOGS> {
  return {
    name: 'logs',
    operations: LOGS,
    migrations: LOG_MIGRATIONS,
    services: (context) => openLogs(context, retention),
    close: (services) => services.close(),
  };
}

function openLogs(
  { engine, database, now, every, report }: AreaContext,
  limits: RetentionLimits,
): OpenedLogs {
  const db = database as Kysely<LogTables>;
  const indexer = new LogIndexer({ engine, db, every, report });
  const hasLimits = limits.maxAgeMs !== undefined || limits.maxBytes !== undefined;
  const sweeper = hasLimits
    ? new RunRetention({
        ...{ engine, db, now, every, report, limits },
        index: () => indexer.updateAll(),
        pause: () => sleep(PAUSE_MS),
      })
    : undefined;
  return {
    ...{ engine, db, indexer, now },
    withoutCredentials: (graph: JsonObject) => withoutCredentials(graph as never) as unknown as JsonObject,
    close: async () => {
      await sweeper?.close();
      await indexer.close();
    },
  };
}
