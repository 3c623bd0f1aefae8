import { isEngineError } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { removeLogs } from '../logs/store.ts';
import type { LogTables } from '../logs/tables.ts';
import type { RetentionJob, SweepContext } from './sweep.ts';

type Db = Kysely<LogTables>;

/** Limits on runs that have ended. Absent: no limit. */
export interface RunLimits {
  /** Maximum age after the end, in milliseconds; at least an hour. */
  maxAgeMs?: number | undefined;
  /** Maximum size of all runs together, in bytes. The oldest runs that have ended are deleted first. */
  maxBytes?: number | undefined;
}

/** A run that has ended, of any workspace. */
interface EndedRun {
  engine_id: string;
  ended_ms: number;
  bytes: number;
}

interface RunRetentionOptions {
  engine: Pick<Engine, 'deleteRun' | 'runSizes'>;
  db: Db;
  limits: RunLimits;
  /** Milliseconds for which runs are kept after their end, even if all runs exceed `maxBytes`. */
  minAgeMs: number;
  now: () => number;
  /** Updates the log. */
  updateLog: () => Promise<void>;
}

/** Maximum number of rows of one query. */
const BATCH_SIZE = 20;

/** Returns the job that deletes runs of the log beyond the limits, oldest first, with their children. */
export function runRetention(options: RunRetentionOptions): RetentionJob {
  const { maxAgeMs = Infinity, maxBytes = Infinity } = options.limits;
  return async (sweep) => {
    if (Number.isFinite(maxAgeMs)) await deleteRunsEndedBefore(options, sweep, options.now() - maxAgeMs);
    if (Number.isFinite(maxBytes)) await deleteExcessRuns(options, sweep, maxBytes);
  };
}

async function deleteRunsEndedBefore(
  options: RunRetentionOptions,
  sweep: SweepContext,
  cutoffMs: number,
): Promise<void> {
  let lastRun: EndedRun | undefined;
  do lastRun = await deleteBatch(options, sweep, { cutoffMs, lastRun, excessBytes: Infinity });
  while (lastRun);
}

/** Deletes the oldest runs until all runs together take at most `maxBytes`. Deleting their children may free more. */
async function deleteExcessRuns(
  options: RunRetentionOptions,
  sweep: SweepContext,
  maxBytes: number,
): Promise<void> {
  const cutoffMs = options.now() - options.minAgeMs;
  let lastRun: EndedRun | undefined;
  do {
    if (!(await storeSizes(options, sweep))) return;
    const excessBytes = (await readTotalBytes(options.db)) - maxBytes;
    if (excessBytes <= 0) return;
    lastRun = await deleteBatch(options, sweep, { cutoffMs, lastRun, excessBytes });
    // Removes the log rows of the deleted children.
    await options.updateLog();
  } while (lastRun);
}

/**
 * Deletes runs that ended before `cutoffMs`, oldest first, until `excessBytes` bytes are freed. Returns the last run of
 * the batch, after which the next batch starts; undefined if no run follows or the sweep must end.
 */
async function deleteBatch(
  options: RunRetentionOptions,
  sweep: SweepContext,
  batch: { cutoffMs: number; lastRun: EndedRun | undefined; excessBytes: number },
): Promise<EndedRun | undefined> {
  const runs = await readEndedRuns(options.db, batch.cutoffMs, batch.lastRun);
  let freedBytes = 0;
  let lastRun: EndedRun | undefined;
  for (const run of runs) {
    if (freedBytes >= batch.excessBytes) return lastRun;
    if (await deleteRun(options, run.engine_id)) freedBytes += Math.max(0, run.bytes);
    lastRun = run;
    if (!(await sweep.continueAfterPause())) return undefined;
  }
  return runs.length === BATCH_SIZE ? lastRun : undefined;
}

/** Deletes a run. Returns false if the run or one of its children has not ended. */
async function deleteRun({ engine, db }: RunRetentionOptions, engineRunId: string): Promise<boolean> {
  try {
    await engine.deleteRun(engineRunId);
  } catch (error) {
    if (!isEngineError(error)) throw error;
    if (error.code === 'RUN_NOT_SETTLED') return false;
    if (error.code !== 'RUN_NOT_FOUND') throw error;
  }
  await removeLogs(db, [engineRunId]);
  return true;
}

/** Stores the sizes of ended runs that have none yet. Returns false if the sweep must end. */
async function storeSizes({ engine, db }: RunRetentionOptions, sweep: SweepContext): Promise<boolean> {
  for (;;) {
    const ids = await readUnmeasuredRunIds(db);
    if (ids.length === 0) return true;
    const sizes = await engine.runSizes(ids);
    // A run that was deleted in the meantime gets size 0. Its row is removed when the log is updated next.
    for (const id of ids)
      await db
        .updateTable('run_logs')
        .set({ bytes: sizes.get(id) ?? 0 })
        .where('engine_id', '=', id)
        .execute();
    if (!(await sweep.continueAfterPause())) return false;
  }
}

/** Returns ended runs without a parent, oldest first, after `lastRun`. */
async function readEndedRuns(db: Db, cutoffMs: number, lastRun: EndedRun | undefined): Promise<EndedRun[]> {
  const rows = await db
    .selectFrom('run_logs')
    .select(['engine_id', 'ended_ms', 'bytes'])
    .where('is_child', '=', sql.lit(0))
    .where('ended_ms', '<', cutoffMs)
    .$if(lastRun !== undefined, (query) =>
      query.where(sql<boolean>`(ended_ms, engine_id) > (${lastRun?.ended_ms}, ${lastRun?.engine_id})`),
    )
    .orderBy('ended_ms')
    .orderBy('engine_id')
    .limit(BATCH_SIZE)
    .execute();
  return rows.map((row) => ({
    engine_id: row.engine_id,
    ended_ms: Number(row.ended_ms),
    bytes: Number(row.bytes),
  }));
}

async function readUnmeasuredRunIds(db: Db): Promise<string[]> {
  const rows = await db
    .selectFrom('run_logs')
    .select('engine_id')
    .where('bytes', '=', -1)
    .where('ended_ms', 'is not', null)
    .limit(BATCH_SIZE)
    .execute();
  return rows.map((row) => row.engine_id);
}

async function readTotalBytes(db: Db): Promise<number> {
  const row = await db
    .selectFrom('run_logs')
    .select(sql<number>`sum(bytes)`.as('total'))
    .where('bytes', '>', 0)
    .executeTakeFirst();
  return Number(row?.total ?? 0);
}
