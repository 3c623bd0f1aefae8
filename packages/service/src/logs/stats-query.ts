import { sql } from 'kysely';
import type { RawBuilder } from 'kysely';
import { statsConditions } from './query.ts';
import type { LogFilters } from './query.ts';
import { periodsOf } from './stats.ts';
import type { StatsRow, Window } from './stats.ts';
import { rangesOf, rangeTable } from './totals.ts';

const TOTAL_COLUMNS = sql`column3 as segment, workflow_id, level, runs as total, duration_ms as duration, timed as ended,
  cost_micros as cost`;
const RUN_COLUMNS = sql`column3 as segment, workflow_id, level, 1 as total,
  case when duration_ms >= 0 then duration_ms else 0 end as duration, case when duration_ms >= 0 then 1 else 0 end as ended,
  case when cost > 0 then cast(round(cost * 1000000) as bigint) else 0 end as cost`;

/**
 * Returns the query of the statistics. It reads the totals, the runs that the totals lack, and the runs at the edges of
 * the periods, which no totals cover. It is one statement, so it counts each run once even if another process adds runs
 * to the totals at the same time.
 */
export function statsQueryOf(filters: LogFilters, window: Window): RawBuilder<StatsRow> {
  const { bucketRangesByWidth, edgeRanges, coveredRanges } = rangesOf(periodsOf(window));
  const where = sql.join(statsConditions(filters), sql` and `);
  const rangeCondition = sql`started_ms >= column1 and started_ms < column2`;
  const sources = [
    ...[...bucketRangesByWidth].map(([width, ranges]) => ({
      ranges,
      columns: TOTAL_COLUMNS,
      table: sql`run_totals`,
      condition: sql`width_ms = ${sql.lit(width)} and start_ms >= column1 and start_ms < column2`,
    })),
    { ranges: edgeRanges, columns: RUN_COLUMNS, table: sql`run_logs`, condition: rangeCondition },
    {
      ranges: coveredRanges,
      columns: RUN_COLUMNS,
      table: sql`run_logs`,
      condition: sql`totalled = 0 and ${rangeCondition}`,
    },
  ];
  // A cross join reads the ranges first and searches each in the index.
  const selects = sources
    .filter(({ ranges }) => ranges.length > 0)
    .map(
      ({ ranges, columns, table, condition }) =>
        sql`select ${columns} from ${rangeTable(ranges)} cross join ${table} where ${where} and ${condition}`,
    );
  return sql<StatsRow>`select workflow_id, segment, sum(total) as total,
      sum(case when level = 'error' then total else 0 end) as errors, sum(duration) as duration, sum(ended) as ended,
      sum(cost) as cost
    from (${sql.join(selects, sql` union all `)}) as matching group by workflow_id, segment`;
}
