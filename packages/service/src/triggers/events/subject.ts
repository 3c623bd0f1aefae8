import type { AreaContext } from '@heddle/api';
import type { JsonObject } from '@heddle/core';
import type { Kysely } from 'kysely';
import type { EndedRun } from './conditions.ts';
import { runSummary } from './payload.ts';
import type { EventSubject } from './payload.ts';
import type { EventTables, ServiceEventRow } from './tables.ts';

type Services = Pick<AreaContext, 'engine'> & { db: Kysely<EventTables> };

/** The subject of an event. The summary of its run is read when the first rule needs it. */
export interface FoundSubject {
  run: EndedRun | undefined;
  subject: () => Promise<EventSubject>;
}

/** Returns the subject of an event; undefined if its run was deleted. */
export async function subjectOf(
  { engine, db }: Services,
  event: ServiceEventRow,
): Promise<FoundSubject | undefined> {
  const workflow = await workflowOf(db, event.workflow_id);
  const details = JSON.parse(event.details ?? '{}') as Pick<EventSubject, 'credential' | 'version' | 'error'>;
  const about: EventSubject = { happenedMs: event.happened_ms, workflow, ...details };
  if (event.kind !== 'run_ended') return { run: undefined, subject: () => Promise.resolve(about) };
  const run = await endedRun(db, event.subject_id ?? '');
  if (!run) return undefined;
  let summary: Promise<JsonObject> | undefined;
  return { run, subject: async () => ({ ...about, run: await (summary ??= runSummary(engine, run)) }) };
}

async function workflowOf(db: Services['db'], id: string | null): Promise<EventSubject['workflow']> {
  if (id === null) return undefined;
  const found = await db.selectFrom('workflows').select('name').where('id', '=', id).executeTakeFirst();
  return { id, name: found?.name ?? id };
}

/** Returns the run with its times as numbers: PostgreSQL returns them as text. */
async function endedRun(db: Services['db'], engineId: string): Promise<EndedRun | undefined> {
  const row = await db
    .selectFrom('run_logs')
    .select(['engine_id', 'run_id', 'workflow_id', 'status', 'started_ms', 'duration_ms', 'cost'])
    .where('engine_id', '=', engineId)
    .executeTakeFirst();
  return (
    row && {
      ...row,
      ...{ started_ms: Number(row.started_ms), duration_ms: Number(row.duration_ms), cost: Number(row.cost) },
    }
  );
}
