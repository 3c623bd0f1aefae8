import { setTimeout as sleep } from 'node:timers/promises';
import type { Area, AreaContext } from '@heddle/api';
import type { Kysely } from 'kysely';
import { LogIndexer } from '../logs/indexer.ts';
import { Triggers } from '../triggers/triggers.ts';
import type { LogTables } from '../logs/tables.ts';
import type { ServiceStore } from '../store/open.ts';
import { deleteReceipts } from '../transfer/receipts.ts';
import type { ReceiptTables } from '../transfer/tables.ts';
import { publicRunRetention } from './public-runs.ts';
import { runRetention } from './runs.ts';
import type { RunLimits } from './runs.ts';
import { RetentionSweeper } from './sweep.ts';
import type { RetentionJob } from './sweep.ts';

/** Retention times of records, and the size limit of runs. */
export interface RetentionLimits extends RunLimits {
  /**
   * Milliseconds for which runs of unauthenticated callers are kept after their end. Default: 30 days; Infinity:
   * forever.
   */
  publicRunsMs?: number | undefined;
  /** Milliseconds for which receipts of imports are kept. Default: 30 days; Infinity: forever. */
  receiptsMs?: number | undefined;
}

const DEFAULT_RETENTION_MS = 30 * 24 * 3_600_000;
/** Minimum retention time. The engine keeps newer values, because a run that starts may use them. */
const MIN_RETENTION_MS = 3_600_000;
/** Pause between two deletions, in which runs continue. */
const PAUSE_MS = 5;

/**
 * Returns the area (a module of the HTTP API) that deletes runs and receipts beyond the limits, in one background
 * sweep. It has no operations. Throws a RangeError for a limit that is too small.
 */
export function retention({
  store,
  limits = {},
  triggers = new Triggers(),
}: {
  store: Pick<ServiceStore, 'database' | 'publicRuns'>;
  limits?: RetentionLimits | undefined;
  /** The same object as in the areas of workflows and triggers. */
  triggers?: Triggers;
}): Area<RetentionSweeper, Record<never, never>> {
  requireValidLimits(limits);
  return {
    name: 'retention',
    operations: {},
    services: (context) => openSweep(context, store, { limits, triggers }),
    close: (sweep) => sweep.close(),
  };
}

/** Throws a RangeError for a limit that is too small. */
function requireValidLimits({ maxBytes = Infinity, ...retentionTimes }: RetentionLimits): void {
  for (const [name, ms = Infinity] of Object.entries<number | undefined>(retentionTimes))
    if (!(ms >= MIN_RETENTION_MS)) throw new RangeError(`${name} must be at least ${MIN_RETENTION_MS}.`);
  if (!(maxBytes > 0)) throw new RangeError('maxBytes must be greater than 0.');
}

function openSweep(
  { engine, reservations, now, repeat, onError }: AreaContext,
  { database, publicRuns }: Pick<ServiceStore, 'database' | 'publicRuns'>,
  { limits, triggers }: { limits: RetentionLimits; triggers: Triggers },
): RetentionSweeper {
  const { publicRunsMs = DEFAULT_RETENTION_MS, receiptsMs = DEFAULT_RETENTION_MS } = limits;
  const db = database as Kysely<LogTables>;
  // Updates the log after deletions. The area of the log has its own indexer, which works in the background.
  const indexer = new LogIndexer({ engine, db, repeat: () => () => undefined, onError, now, triggers });
  const updateLog = () => indexer.updateAll();
  return new RetentionSweeper({
    jobs: [
      ...(Number.isFinite(receiptsMs)
        ? [receiptRetention({ db: database as Kysely<ReceiptTables>, maxAgeMs: receiptsMs, now })]
        : []),
      ...(Number.isFinite(publicRunsMs)
        ? [publicRunRetention({ engine, publicRuns, reservations, maxAgeMs: publicRunsMs, now, onError })]
        : []),
      runRetention({ engine, db, limits, minAgeMs: MIN_RETENTION_MS, now, updateLog }),
    ],
    pause: () => sleep(PAUSE_MS),
    ...{ db, now, repeat, onError },
  });
}

/** Returns the job that deletes receipts of imports after a retention time. */
function receiptRetention({
  db,
  maxAgeMs,
  now,
}: {
  db: Kysely<ReceiptTables>;
  /** Milliseconds for which a receipt is kept. */
  maxAgeMs: number;
  now: () => number;
}): RetentionJob {
  return async (sweep) => {
    const cutoff = new Date(now() - maxAgeMs).toISOString();
    while ((await deleteReceipts(db, cutoff)) > 0 && (await sweep.continueAfterPause()));
  };
}
