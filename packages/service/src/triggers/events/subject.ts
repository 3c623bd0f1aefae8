import type { AreaContext } from '@heddle/api';
import type { JsonObject } from '@heddle/core';
import type { Kysely } from 'kysely';
import type { EndedRun } from './conditions.ts';
import { summarizeRun } from './payload.ts';
import type { EventSubject } from './payload.ts';
import type { EventTables, ServiceEventRow } from './tables.ts';

type Services = Pick<AreaContext, 'engine'> & { db: Kysely<EventTables> };

/** The data of an event with which rules are checked and inputs are built. */
export interface EventContext {
  /** The run that has ended; undefined for other kinds of events. */
  run: EndedRun | undefined;
  /** Reads the subject of the event. Reads the summary of the run only once. */
  loadSubject: () => Promise<EventSubject>;
}

/** Returns the context of an event; undefined if its run was deleted. */
export async function loadContext(
  { engine, db }: Services,
  event: ServiceEventRow,
): Promise<EventContext | undefined> {
  const workflow = await findWorkflow(db, event.workflow_id);
  const details = JSON.parse(event.details ?? '{}') as Pick<EventSubject, 'credential' | 'version' | 'error'>;
  const subject: EventSubject = { happenedMs: event.happened_ms, workflow, ...details };
  if (event.kind !== 'run_ended') return { run: undefined, loadSubject: () => Promise.resolve(subject) };
  const run = await findEndedRun(db, event.subject_id ?? '');
  if (!run) return undefined;
  let summary: Promise<JsonObject> | undefined;
  return {
    run,
    loadSubject: async () => ({ ...subject, run: await (summary ??= summarizeRun(engine, run)) }),
  };
}

async function findWorkflow(db: Services['db'], id: string | null): Promise<EventSubject['workflow']> {
  if (id === null) return undefined;
  const row = await db.selectFrom('workflows').select('name').where('id', '=', id).executeTakeFirst();
  return { id, name: row?.name ?? id };
}

/** Returns the run, with numbers in place of the strings that PostgreSQL returns. */
async function findEndedRun(db: Services['db'], engineRunId: string): Promise<EndedRun | undefined> {
  const row = await db
    .selectFrom('run_logs')
    .select(['engine_id', 'run_id', 'workflow_id', 'status', 'started_ms', 'duration_ms', 'cost'])
    .where('engine_id', '=', engineRunId)
    .executeTakeFirst();
  return (
    row && {
      ...row,
      ...{ started_ms: Number(row.started_ms), duration_ms: Number(row.duration_ms), cost: Number(row.cost) },
    }
  );
}
