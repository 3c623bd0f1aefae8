import type { BlockLog } from '@heddle/core';
import { sql } from 'kysely';
import type { Kysely, QueryCreator } from 'kysely';
import type { JournalRow } from '../journal.ts';
import type { Tables } from './schema.ts';

/** The number of a run; null, which no table takes, for an unknown one. */
export function numberOf(db: QueryCreator<Tables>, runId: string) {
  return db.selectFrom('runs').select('number').where('run_id', '=', runId);
}

/** An insert of entries in one statement, whatever their number. */
export function insertEntries(db: Kysely<Tables>, runId: string, rows: readonly JournalRow[]) {
  const seqs = rows.map((row) => row.seq);
  const entries = rows.map((row) => row.entry);
  const given = sql<{ seq: number; entry: string }>`unnest(${seqs}::bigint[], ${entries}::text[])`;
  return db
    .insertInto('journal')
    .columns(['run', 'seq', 'entry'])
    .expression((eb) =>
      eb
        .selectFrom(given.as<'given'>(sql`given(seq, entry)`))
        .select([numberOf(db, runId).as('run'), 'given.seq', 'given.entry']),
    );
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
