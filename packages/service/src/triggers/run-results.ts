import { isEngineError } from '@heddle/core';
import type { Engine } from '@heddle/engine';
import { isCorruptRecord } from '../logs/corrupt-record.ts';
import type { LogTables } from '../logs/tables.ts';
import type { Db } from './fire.ts';
import { healthAfterFailure, HEALTHY_COLUMNS } from './health.ts';
import { recordSuspension } from './advance.ts';
import { lockTriggers, withNumericTimes } from './rows.ts';
import type { TriggerRow } from './tables.ts';

/** The columns of a logged run that its result depends on. */
export type LoggedRun = Pick<
  LogTables['run_logs'],
  'engine_id' | 'workflow_id' | 'status' | 'trigger' | 'is_child'
>;

/** The result of an ended run for the health of its trigger. */
interface RunResult {
  /** The block of the trigger; undefined: the run failed before its first block. */
  blockId: string | undefined;
  /** Why the run failed; undefined: it completed. */
  error: string | undefined;
}

/** The results of runs, by the ids of the runs in the engine. */
export type RunResults = ReadonlyMap<string, RunResult>;

/** Dependencies for reading the results of runs from their traces. */
export interface TraceServices {
  engine: Pick<Engine, 'getTrace'>;
  onError: (error: unknown) => void;
}

/** The triggers that do not check their previous run, so its result is counted here. Schedules check it. */
const COUNTED_TRIGGERS: ReadonlySet<string> = new Set(['webhook', 'event']);

/**
 * Reads the results of ended runs for the health of webhooks and event triggers. Reads only failed runs, and completed
 * runs of workflows with a failing trigger.
 */
export async function readRunResults(
  db: Db,
  services: TraceServices,
  logs: readonly LoggedRun[],
): Promise<RunResults> {
  const countedRuns = logs.filter(
    ({ trigger, is_child: isChild }) => COUNTED_TRIGGERS.has(trigger) && isChild === 0,
  );
  const failures = countedRuns.filter(({ status }) => status === 'failed');
  const successes = countedRuns.filter(({ status }) => status === 'completed');
  const failingWorkflowIds = await findFailingWorkflowIds(db, successes);
  const relevantRuns = [
    ...failures,
    ...successes.filter(({ workflow_id: id }) => failingWorkflowIds.has(id)),
  ];
  const results = new Map<string, RunResult>();
  for (const { engine_id: id, status } of relevantRuns) {
    const result = await readRunResult(services, id, status === 'failed');
    if (result) results.set(id, result);
  }
  return results;
}

async function findFailingWorkflowIds(db: Db, runs: readonly LoggedRun[]): Promise<ReadonlySet<string>> {
  if (runs.length === 0) return new Set();
  const rows = await db
    .selectFrom('triggers')
    .select('workflow_id')
    .distinct()
    .where('workflow_id', 'in', [...new Set(runs.map(({ workflow_id: id }) => id))])
    .where('failures', '>', 0)
    .execute();
  return new Set(rows.map(({ workflow_id: id }) => id));
}

async function readRunResult(
  { engine, onError }: TraceServices,
  runId: string,
  hasFailed: boolean,
): Promise<RunResult | undefined> {
  try {
    const { children, error } = await engine.getTrace(runId);
    // The first block of a run is its trigger.
    const blockId = children[0]?.blockId;
    return { blockId, error: hasFailed ? (error?.message ?? 'The run has failed.') : undefined };
  } catch (error) {
    // The run was deleted in the meantime, so it does not count.
    if (isEngineError(error)) return undefined;
    if (!isCorruptRecord(error)) throw error;
    onError(new Error(`A stored record of run ${runId} is corrupt: the health of its trigger ignores it`));
    return undefined;
  }
}

/**
 * Counts consecutive failures, in the transaction that records the end of the runs, and suspends triggers that
 * keep failing. Returns the ids of the workflows of the suspended triggers.
 */
export async function countRunResults(
  db: Db,
  runs: readonly LoggedRun[],
  { results, nowMs }: { results: RunResults; nowMs: number },
): Promise<string[]> {
  const suspendedWorkflowIds: string[] = [];
  const countedRuns = runs.filter(({ engine_id: id }) => results.has(id));
  // Always in the same order, so that transactions of several processes cannot deadlock.
  for (const run of countedRuns.toSorted((a, b) => (a.workflow_id < b.workflow_id ? -1 : 1))) {
    const { blockId, error } = results.get(run.engine_id) as RunResult;
    const row = await lockActiveTrigger(db, run.workflow_id, blockId);
    if (!row || (error === undefined && row.failures === 0)) continue;
    const health = error === undefined ? HEALTHY_COLUMNS : healthAfterFailure(row, error, nowMs);
    const change: Partial<TriggerRow> = { ...health, last_check_ms: nowMs };
    await db.updateTable('triggers').set(change).where('id', '=', row.id).execute();
    if (change.state !== 'suspended') continue;
    await recordSuspension(db, { trigger: row, change });
    suspendedWorkflowIds.push(row.workflow_id);
  }
  return [...new Set(suspendedWorkflowIds)];
}

/**
 * Returns the active trigger of a block. Without a block, returns the active trigger of the workflow if there is only
 * one. Locks the triggers of the workflow until the transaction ends.
 */
async function lockActiveTrigger(
  db: Db,
  workflowId: string,
  blockId: string | undefined,
): Promise<TriggerRow | undefined> {
  const [row, ...others] = await lockTriggers(db, workflowId)
    .$if(blockId !== undefined, (query) => query.where('block_id', '=', blockId ?? ''))
    .where('version', 'is not', null)
    .where('state', '=', 'active')
    .execute();
  return row && others.length === 0 ? withNumericTimes(row) : undefined;
}
