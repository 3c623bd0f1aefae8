import type { Kysely } from 'kysely';
import type { LogRow } from '../../logs/tables.ts';
import type { EventRule } from '@heddle/engine/triggers';
import type { EventKind, EventTables } from './tables.ts';

type Db = Kysely<EventTables>;

/** A run that has completed or failed. */
export type EndedRun = Pick<
  LogRow,
  'engine_id' | 'run_id' | 'workflow_id' | 'status' | 'started_ms' | 'duration_ms' | 'cost'
>;

export const CREDITS_PER_DOLLAR = 200;
/** Minimum number of runs for a rate or average. */
const MIN_RUNS = 5;
/** Maximum number of runs for a rate or average: the latest ones. */
const MAX_RUNS = 1000;
/** Maximum number of runs among which failures are counted: the latest ones. */
const MAX_COUNTED_RUNS = 10_000;

/** Returns the kind of event for which a rule is checked; undefined for a rule about the absence of runs. */
export function eventKindOf({ event }: EventRule): EventKind | undefined {
  switch (event) {
    case 'workflow_deployed':
    case 'workflow_undeployed':
    case 'credential_reconnect':
    case 'credential_changed':
    case 'trigger_suspended':
      return event;
    case 'no_activity':
      return undefined;
    default:
      return 'run_ended';
  }
}

/** Returns whether the run, together with the runs before it, meets the condition of the rule. */
export async function isConditionMet(db: Db, rule: EventRule, run: EndedRun): Promise<boolean> {
  const hasFailed = run.status === 'failed';
  switch (rule.event) {
    case 'execution_error':
      return hasFailed;
    case 'execution_success':
      return !hasFailed;
    case 'consecutive_failures':
      return hasFailed && (await hasOnlyFailed(db, run, rule.runs));
    case 'failure_rate':
      return hasFailed && (await failureRate(db, run, rule.windowMs)) >= rule.percent;
    case 'error_count':
      return hasFailed && (await countFailures(db, run, rule)) >= rule.runs;
    case 'latency_threshold':
      return run.duration_ms > rule.ms;
    case 'latency_spike':
      return run.duration_ms > (await averageDuration(db, run, rule.windowMs)) * (1 + rule.percent / 100);
    case 'cost_threshold':
      return run.cost * CREDITS_PER_DOLLAR > rule.credits;
    default:
      return false;
  }
}

/**
 * Selects the completed and failed runs of the workflow up to this one, latest first, without child runs and runs that
 * events have started.
 */
function selectRunsUpTo(db: Db, { workflow_id, started_ms }: EndedRun) {
  return db
    .selectFrom('run_logs')
    .select(['engine_id', 'status', 'duration_ms'])
    .where('workflow_id', '=', workflow_id)
    .where('started_ms', '<=', started_ms)
    .where('status', 'in', ['completed', 'failed'])
    .where('is_child', '=', 0)
    .where('trigger', '!=', 'event')
    .orderBy('started_ms', 'desc')
    .orderBy('engine_id', 'desc');
}

/** Returns whether the last `count` runs have failed. */
async function hasOnlyFailed(db: Db, run: EndedRun, count: number): Promise<boolean> {
  const lastRuns = await selectRunsUpTo(db, run).limit(count).execute();
  return lastRuns.length === count && lastRuns.every(({ status }) => status === 'failed');
}

/** Returns the failure rate in percent; 0 for too few runs. */
async function failureRate(db: Db, run: EndedRun, windowMs: number): Promise<number> {
  const runs = await selectRunsUpTo(db, run)
    .where('started_ms', '>', run.started_ms - windowMs)
    .limit(MAX_RUNS)
    .execute();
  if (runs.length < MIN_RUNS) return 0;
  return (runs.filter(({ status }) => status === 'failed').length / runs.length) * 100;
}

async function countFailures(db: Db, run: EndedRun, { windowMs }: { windowMs: number }): Promise<number> {
  const { count } = await db
    .selectFrom(
      selectRunsUpTo(db, run)
        .where('started_ms', '>', run.started_ms - windowMs)
        .limit(MAX_COUNTED_RUNS)
        .as('last'),
    )
    .select((eb) => eb.fn.countAll().as('count'))
    .where('status', '=', 'failed')
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Returns the average duration of the runs before this one; Infinity for too few runs. */
async function averageDuration(db: Db, run: EndedRun, windowMs: number): Promise<number> {
  const runs = await selectRunsUpTo(db, run)
    .where('engine_id', '!=', run.engine_id)
    .where('started_ms', '>', run.started_ms - windowMs)
    .limit(MAX_RUNS)
    .execute();
  const durations = runs.map(({ duration_ms: ms }) => Number(ms)).filter((ms) => ms >= 0);
  if (durations.length < MIN_RUNS) return Infinity;
  return durations.reduce((sum, ms) => sum + ms, 0) / durations.length;
}
