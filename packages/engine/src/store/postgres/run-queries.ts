import type { BlockLog, Entry, RunHeader, RunRecord } from '@heddle/core';
import { sql } from 'kysely';
import type { Insertable, Kysely, QueryCreator } from 'kysely';
import { isEnded } from '../journal.ts';
import type { JournalRow } from '../journal.ts';
import type { Lease } from '../leases.ts';
import type { Tables } from './schema.ts';

/** Returns a query for the number of a run. Its value is null for an unknown run; every table rejects null. */
export function runNumberQuery(db: QueryCreator<Tables>, runId: string) {
  return db.selectFrom('runs').select('number').where('run_id', '=', runId);
}

/** Returns the row of a new run. */
export function rowOf(header: RunHeader, record: RunRecord | undefined): Insertable<Tables['runs']> {
  return {
    run_id: header.runId,
    workflow_id: header.workflowId,
    created_ms: header.createdMs,
    header: JSON.stringify(header),
    parent: header.parent?.runId ?? null,
    elsewhere: header.elsewhere === true,
    ...(record && recordColumnsOf(record)),
  };
}

/** Returns the columns of a run's row that come from its record. */
export function recordColumnsOf(record: RunRecord) {
  const { status, seq } = record;
  return { status, ended: isEnded(status), record_seq: seq, record: JSON.stringify(record) };
}

/** Inserts a run and its first entry, in one statement. Inserts nothing if the id exists. */
export function insertRunQuery(db: Kysely<Tables>, row: Insertable<Tables['runs']>, firstEntry: Entry) {
  return db
    .with('created', (query) =>
      query
        .insertInto('runs')
        .values(row)
        .onConflict((conflict) => conflict.column('run_id').doNothing())
        .returning('number'),
    )
    .insertInto('journal')
    .columns(['run', 'seq', 'entry'])
    .expression((eb) =>
      eb
        .selectFrom('created')
        .select([
          'number',
          sql<number>`${firstEntry.seq}::bigint`.as('seq'),
          sql<string>`${JSON.stringify(firstEntry)}::text`.as('entry'),
        ]),
    );
}

/** Returns the entries as a table expression, so that their number does not change the text of the statement. */
function entriesTable(rows: readonly JournalRow[]) {
  const seqs = rows.map((row) => row.seq);
  const entries = rows.map((row) => row.entry);
  return sql<{ seq: number; entry: string }>`unnest(${seqs}::bigint[], ${entries}::text[])`.as<'input'>(
    sql`input(seq, entry)`,
  );
}

/** Inserts entries of a run. */
export function insertEntriesQuery(db: Kysely<Tables>, runId: string, rows: readonly JournalRow[]) {
  return db
    .insertInto('journal')
    .columns(['run', 'seq', 'entry'])
    .expression((eb) =>
      eb
        .selectFrom(entriesTable(rows))
        .select([runNumberQuery(db, runId).as('run'), 'input.seq', 'input.entry']),
    );
}

/** Updates the record and the logs of a run, unless the stored record is newer. Returns no row for an unknown run. */
export function saveRunQuery(db: QueryCreator<Tables>, record: RunRecord, logs: readonly BlockLog[]) {
  return db
    .with('saved', (query) =>
      query
        .updateTable('runs')
        .set(recordColumnsOf(record))
        .where('run_id', '=', record.runId)
        .where((eb) => eb.or([eb('record_seq', 'is', null), eb('record_seq', '<=', record.seq)]))
        .returning('number'),
    )
    .with('added', (query) => addLogsQuery(query, logs))
    .selectFrom('runs')
    .select((eb) => eb.exists(eb.selectFrom('saved').select('number')).as('saved'))
    .where('run_id', '=', record.runId);
}

/** The common table expression of `lockLeasedRunQuery`. */
type LeasedTable = { leased: { number: number } };

/**
 * Selects and locks the run if the lease is valid. After the end of a run, the lease of its last holder stays valid.
 */
export function lockLeasedRunQuery(db: QueryCreator<Tables>, { runId, owner, epoch }: Lease) {
  return db
    .selectFrom('runs')
    .select('number')
    .where('run_id', '=', runId)
    .where('epoch', '=', epoch)
    .where((eb) => eb.or([eb('owner', '=', owner), eb('ended', '=', sql.lit(true))]))
    .forNoKeyUpdate();
}

/** Inserts entries for the run in `leased`, if there is one. */
export function addEntriesQuery(db: QueryCreator<Tables & LeasedTable>, rows: readonly JournalRow[]) {
  return db
    .insertInto('journal')
    .columns(['run', 'seq', 'entry'])
    .expression((eb) =>
      eb.selectFrom(['leased', entriesTable(rows)]).select(['leased.number', 'input.seq', 'input.entry']),
    );
}

/** Updates the record of the run in `leased`, unless the stored one is newer. An ended run loses its owner. */
export function saveLeasedRunQuery(db: QueryCreator<Tables & LeasedTable>, record: RunRecord) {
  const columns = recordColumnsOf(record);
  return db
    .updateTable('runs')
    .from('leased')
    .set({ ...columns, ...(columns.ended && { owner: null }) })
    .whereRef('runs.number', '=', 'leased.number')
    .where((eb) => eb.or([eb('record_seq', 'is', null), eb('record_seq', '<=', record.seq)]))
    .returning('runs.number');
}

/** Inserts or replaces logs of the run in `saved`, if there is one. */
export function addLogsQuery(
  db: QueryCreator<Tables & { saved: { number: number } }>,
  logs: readonly BlockLog[],
) {
  // Only the last log of each execution order, because one statement may change a row only once.
  const logsByOrder = new Map(logs.map((log) => [log.executionOrder, JSON.stringify(log)]));
  const logsTable = sql<{
    execution_order: number;
    log: string;
  }>`unnest(${[...logsByOrder.keys()]}::bigint[], ${[...logsByOrder.values()]}::text[])`;
  return db
    .insertInto('logs')
    .columns(['run', 'execution_order', 'log'])
    .expression((eb) =>
      eb
        .selectFrom(['saved', logsTable.as<'input'>(sql`input(execution_order, log)`)])
        .select(['saved.number', 'input.execution_order', 'input.log']),
    )
    .onConflict((conflict) =>
      conflict.columns(['run', 'execution_order']).doUpdateSet((eb) => ({ log: eb.ref('excluded.log') })),
    );
}
