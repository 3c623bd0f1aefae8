import { sql } from 'kysely';
import type { Kysely, RawBuilder } from 'kysely';
import { isPostgres } from '../store/dialect.ts';
import type { LogTables, RunTotals } from './tables.ts';
import { costMicrosOf } from './usage.ts';

type Db = Kysely<LogTables>;

/** Maximum number of ended runs that one transaction adds to the totals. */
const BATCH_SIZE = 200;

const MINUTE_MS = 60_000;

/**
 * Widths of the buckets for which totals are stored, in milliseconds, widest first. Each is eight times the next, so
 * that a few buckets of each width cover a period of the statistics, except for parts of a minute at its ends.
 */
export const BUCKET_WIDTHS_MS: readonly number[] = [512, 64, 8, 1].map((minutes) => minutes * MINUTE_MS);

const COLUMNS = [
  'workspace_id',
  'workflow_id',
  'trigger',
  'level',
  'started_ms',
  'duration_ms',
  'cost',
] as const;
/** The columns of a run that the totals use. */
type EndedRun = Pick<LogTables['run_logs'], (typeof COLUMNS)[number]>;

const KEY_COLUMNS = ['workspace_id', 'width_ms', 'start_ms', 'workflow_id', 'trigger', 'level'] as const;

/** A change to the totals: runs that are added, or removed. */
export interface TotalsChange {
  runs: readonly EndedRun[];
  sign: 1 | -1;
}

/** Adds a batch of ended runs to the totals, in a transaction. Returns true if there may be more. */
export async function addBatchToTotals(db: Db): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const endedRunIds = transaction
      .selectFrom('run_logs')
      .select('engine_id')
      .where('totalled', '=', sql.lit(0))
      .where('ended_ms', 'is not', null)
      .limit(BATCH_SIZE)
      // Rows that another process is changing are added by a later batch.
      .$if(isPostgres(db), (builder) => builder.forUpdate().skipLocked());
    const runs = await transaction
      .updateTable('run_logs')
      .set({ totalled: 1 })
      .where('engine_id', 'in', endedRunIds)
      .returning(COLUMNS)
      .execute();
    await changeTotals(transaction, { runs, sign: 1 });
    return runs.length === BATCH_SIZE;
  });
}

/**
 * Marks the runs as not added to the totals. Returns the change that `changeTotals` has to make in the same
 * transaction.
 */
export async function markAsNotInTotals(db: Db, engineRunIds: readonly string[]): Promise<TotalsChange> {
  if (engineRunIds.length === 0) return { runs: [], sign: -1 };
  const runs = await db
    .updateTable('run_logs')
    .set({ totalled: 0 })
    .where('engine_id', 'in', engineRunIds)
    .where('totalled', '=', 1)
    .returning(COLUMNS)
    .execute();
  return { runs, sign: -1 };
}

/**
 * Changes the totals, and locks their rows in a fixed order. Call it after all other statements of the transaction that
 * may wait for locks. Then processes cannot deadlock.
 */
export async function changeTotals(db: Db, { runs, sign }: TotalsChange): Promise<void> {
  if (runs.length === 0) return;
  await db
    .insertInto('run_totals')
    .values(totalsOf(runs, sign))
    .onConflict((conflict) =>
      conflict.columns([...KEY_COLUMNS]).doUpdateSet((eb) => ({
        runs: eb('run_totals.runs', '+', eb.ref('excluded.runs')),
        duration_ms: eb('run_totals.duration_ms', '+', eb.ref('excluded.duration_ms')),
        timed: eb('run_totals.timed', '+', eb.ref('excluded.timed')),
        cost_micros: eb('run_totals.cost_micros', '+', eb.ref('excluded.cost_micros')),
      })),
    )
    .execute();
  if (sign < 0) await db.deleteFrom('run_totals').where('runs', '=', sql.lit(0)).execute();
}

/** Returns the totals of the runs in every width, in the order of their keys. */
function totalsOf(runs: readonly EndedRun[], sign: 1 | -1): RunTotals[] {
  const totals = new Map<string, RunTotals>();
  for (const run of runs)
    for (const width of BUCKET_WIDTHS_MS) {
      // PostgreSQL returns 64-bit integers as strings.
      const start = Math.floor(Number(run.started_ms) / width) * width;
      const { workspace_id, workflow_id, trigger, level } = run;
      const key = JSON.stringify([workspace_id, width, start, workflow_id, trigger, level]);
      const row = totals.get(key) ?? {
        ...{ workspace_id, width_ms: width, start_ms: start, workflow_id, trigger, level },
        ...{ runs: 0, duration_ms: 0, timed: 0, cost_micros: 0 },
      };
      const duration = Number(run.duration_ms);
      row.runs += sign;
      if (duration >= 0) {
        row.duration_ms += sign * duration;
        row.timed += sign;
      }
      if (run.cost > 0) row.cost_micros += sign * costMicrosOf(run.cost);
      totals.set(key, row);
    }
  return [...totals].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
}

/** A range of times within one period of the statistics, in milliseconds since the epoch. `to` is exclusive. */
interface Range {
  from: number;
  to: number;
  segment: number;
}

/** The ranges by which statistics read each run once. */
export interface Ranges {
  /** Ranges that consist of whole buckets, by the width of the buckets. */
  bucketRangesByWidth: ReadonlyMap<number, readonly Range[]>;
  /** Ranges without totals: every run is read. */
  edgeRanges: readonly Range[];
  /** Ranges with totals: only runs that the totals lack are read. */
  coveredRanges: readonly Range[];
}

/** Returns the ranges by which to read the runs of these periods, in ascending order. */
export function rangesOf(periods: readonly Range[]): Ranges {
  const bucketRangesByWidth = new Map<number, Range[]>(BUCKET_WIDTHS_MS.map((width) => [width, []]));
  const [edgeRanges, coveredRanges]: [Range[], Range[]] = [[], []];
  const add = (ranges: Range[] | undefined, range: Range): void => {
    if (range.from < range.to) ranges?.push(range);
  };
  for (const { segment, from, to } of periods) {
    // The range that wider buckets cover; none at first.
    let innerRange: [number, number] | undefined;
    for (const width of BUCKET_WIDTHS_MS) {
      const outerRange: [number, number] = [Math.ceil(from / width) * width, Math.floor(to / width) * width];
      if (outerRange[0] >= outerRange[1]) continue;
      const [left, right] = innerRange ?? [outerRange[1], outerRange[1]];
      add(bucketRangesByWidth.get(width), { segment, from: outerRange[0], to: left });
      add(bucketRangesByWidth.get(width), { segment, from: right, to: outerRange[1] });
      innerRange = outerRange;
    }
    const [left, right] = innerRange ?? [to, to];
    add(edgeRanges, { segment, from, to: left });
    add(edgeRanges, { segment, from: right, to });
    add(coveredRanges, { segment, from: left, to: right });
  }
  return { bucketRangesByWidth, edgeRanges, coveredRanges };
}

/**
 * Returns the ranges as a table with the columns `column1` (from), `column2` (to) and `column3` (number of the period).
 */
export function rangeTable(ranges: readonly Range[]): RawBuilder<unknown> {
  // Literals, because PostgreSQL would treat parameters as text. All are integers.
  const rows = ranges.map(
    ({ from, to, segment }) => sql`(${sql.lit(from)}, ${sql.lit(to)}, ${sql.lit(segment)})`,
  );
  return sql`(values ${sql.join(rows)}) as ranges`;
}
