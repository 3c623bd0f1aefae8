import type { BlockLog, Entry, NewRun, RunRecord } from '@heddle/core';
import { sql } from 'kysely';
import type { Insertable, Kysely, QueryCreator } from 'kysely';
import { isEnded } from '../journal.ts';
import type { JournalRow } from '../journal.ts';
import type { Lease } from '../leases.ts';
import type { Tables } from './schema.ts';

/** The number of a run; null, which no table takes, for an unknown one. */
export function numberOf(db: QueryCreator<Tables>, runId: string) {
  return db.selectFrom('runs').select('number').where('run_id', '=', runId);
}

/** The row of a new run. */
export function rowOf(run: NewRun, record: RunRecord | undefined): Insertable<Tables['runs']> {
  return {
    run_id: run.runId,
    workflow_id: run.workflowId,
    created_ms: run.createdMs,
    header: JSON.stringify(run),
    parent: run.parent?.runId ?? null,
    elsewhere: run.elsewhere === true,
    ...(record && projectionOf(record)),
  };
}

/** What the row of a run has of its record. */
export function projectionOf(record: RunRecord) {
  const { status, seq } = record;
  return { status, ended: isEnded(status), record_seq: seq, record: JSON.stringify(record) };
}

/** An insert of a run and its first entry, in one statement; nothing when the id is taken. */
export function insertRun(db: Kysely<Tables>, row: Insertable<Tables['runs']>, first: Entry) {
  return db
    .with('created', (to) =>
      to
        .insertInto('runs')
        .values(row)
        .onConflict((taken) => taken.column('run_id').doNothing())
        .returning('number'),
    )
    .insertInto('journal')
    .columns(['run', 'seq', 'entry'])
    .expression((eb) =>
      eb
        .selectFrom('created')
        .select([
          'number',
          sql<number>`${first.seq}::bigint`.as('seq'),
          sql<string>`${JSON.stringify(first)}::text`.as('entry'),
        ]),
    );
}

/** Entries as a table of one statement, whatever their number. */
function givenEntries(rows: readonly JournalRow[]) {
  const seqs = rows.map((row) => row.seq);
  const entries = rows.map((row) => row.entry);
  return sql<{ seq: number; entry: string }>`unnest(${seqs}::bigint[], ${entries}::text[])`.as<'given'>(
    sql`given(seq, entry)`,
  );
}

/** An insert of entries. */
export function insertEntries(db: Kysely<Tables>, runId: string, rows: readonly JournalRow[]) {
  return db
    .insertInto('journal')
    .columns(['run', 'seq', 'entry'])
    .expression((eb) =>
      eb.selectFrom(givenEntries(rows)).select([numberOf(db, runId).as('run'), 'given.seq', 'given.entry']),
    );
}

type Held = { held: { number: number } };

/** The number of the run, its row locked, where the lease stands. One that has ended is its last holder's. */
export function lockLeasedRun(db: QueryCreator<Tables>, { runId, owner, epoch }: Lease) {
  return db
    .selectFrom('runs')
    .select('number')
    .where('run_id', '=', runId)
    .where('epoch', '=', epoch)
    .where((eb) => eb.or([eb('owner', '=', owner), eb('ended', '=', sql.lit(true))]))
    .forNoKeyUpdate();
}

/** An insert of entries for the run that `held` has, if it has one. */
export function addEntries(db: QueryCreator<Tables & Held>, rows: readonly JournalRow[]) {
  return db
    .insertInto('journal')
    .columns(['run', 'seq', 'entry'])
    .expression((eb) =>
      eb.selectFrom(['held', givenEntries(rows)]).select(['held.number', 'given.seq', 'given.entry']),
    );
}

/** An update of the record of the run that `held` has, unless it is older than what is there. What has ended needs nobody. */
export function saveLeasedRun(db: QueryCreator<Tables & Held>, record: RunRecord) {
  const projection = projectionOf(record);
  return db
    .updateTable('runs')
    .from('held')
    .set({ ...projection, ...(projection.ended && { owner: null }) })
    .whereRef('runs.number', '=', 'held.number')
    .where((eb) => eb.or([eb('record_seq', 'is', null), eb('record_seq', '<=', record.seq)]))
    .returning('runs.number as number');
}

/** An insert of logs for the run that `saved` has, if it has one, over those that are there. */
export function addLogs(db: QueryCreator<Tables & { saved: { number: number } }>, logs: readonly BlockLog[]) {
  // The last one of each place: one statement takes one row once.
  const byOrder = new Map(logs.map((log) => [log.executionOrder, JSON.stringify(log)]));
  const given = sql<{
    place: number;
    log: string;
  }>`unnest(${[...byOrder.keys()]}::bigint[], ${[...byOrder.values()]}::text[])`;
  return db
    .insertInto('logs')
    .columns(['run', 'execution_order', 'log'])
    .expression((eb) =>
      eb
        .selectFrom(['saved', given.as<'given'>(sql`given(place, log)`)])
        .select(['saved.number', 'given.place', 'given.log']),
    )
    .onConflict((there) =>
      there.columns(['run', 'execution_order']).doUpdateSet((eb) => ({ log: eb.ref('excluded.log') })),
    );
}
