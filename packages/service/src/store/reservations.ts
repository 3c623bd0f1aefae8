import type {
  NewReservation,
  QueuedRun,
  QueuedStart,
  Reservation,
  ReservationFailure,
  Reservations,
  StartQueue,
} from '@heddle/api/ports';
import { Batcher } from './batcher.ts';
import { compiledQuery, compiledQueryForMany } from './compiled-query.ts';
import { isUniqueViolation } from './database.ts';
import type { Db } from './database.ts';
import type { ReservationRow, Tables } from './schema.ts';

/** Maximum number of runs that one statement adds to the queue or removes from it. */
const BATCH_SIZE = 64;

/**
 * Reserves the ids of a run and queues it, in the transaction of the caller. With `isHeld`, no process starts the run
 * before `releaseHeldRun`. Throws if one of the ids is already reserved.
 */
export async function addQueuedRun(
  transaction: unknown,
  reservation: NewReservation,
  start: QueuedStart,
  { isHeld = false }: { isHeld?: boolean } = {},
): Promise<void> {
  await addQueuedRuns(transaction, [{ reservation, start }], { isHeld });
}

/** Reserves and queues several runs. */
export async function addQueuedRuns(
  transaction: unknown,
  runs: readonly { reservation: NewReservation; start: QueuedStart }[],
  { isHeld = false }: { isHeld?: boolean } = {},
): Promise<void> {
  for (let offset = 0; offset < runs.length; offset += BATCH_SIZE) {
    const chunk = runs.slice(offset, offset + BATCH_SIZE);
    const values = chunk.flatMap(({ reservation, start }) => {
      const row = rowOf(reservation);
      return [...COLUMNS.map((column) => row[column]), JSON.stringify(start), isHeld ? 1 : null];
    });
    await insertQueuedRuns(transaction as Db, chunk.length, values);
  }
}

/**
 * Returns the data with which a held run starts; undefined if it was cancelled. Locks the run until the transaction
 * ends.
 */
export async function lockHeldStart(
  transaction: unknown,
  engineRunId: string,
): Promise<QueuedStart | undefined> {
  const row = await (transaction as Db)
    .updateTable('claims')
    .set({ held: 1 })
    .where('engine_id', '=', engineRunId)
    .where('held', '=', 1)
    .where('waiting', 'is not', null)
    .returning('waiting')
    .executeTakeFirst();
  return row?.waiting == null ? undefined : (JSON.parse(row.waiting) as QueuedStart);
}

/** Changes the data with which a held run starts. */
export async function updateHeldStart(
  transaction: unknown,
  engineRunId: string,
  start: QueuedStart,
): Promise<void> {
  await (transaction as Db)
    .updateTable('claims')
    .set({ waiting: JSON.stringify(start) })
    .where('engine_id', '=', engineRunId)
    .where('held', '=', 1)
    .execute();
}

/** Ends the hold of a run: it may start, or it has failed. */
export async function releaseHeldRun(
  transaction: unknown,
  engineRunId: string,
  outcome: { start: QueuedStart } | { failure: ReservationFailure },
): Promise<void> {
  const change =
    'start' in outcome
      ? { waiting: JSON.stringify(outcome.start) }
      : { waiting: null, failure: JSON.stringify(outcome.failure) };
  await (transaction as Db)
    .updateTable('claims')
    .set({ ...change, held: null })
    .where('engine_id', '=', engineRunId)
    .where('held', '=', 1)
    .execute();
}

type NewReservationRow = Omit<ReservationRow, 'waiting' | 'failure' | 'held'>;

/** An empty row. It determines the order of the columns in the insert statement. */
const TEMPLATE: NewReservationRow = {
  engine_id: '',
  run_id: '',
  workflow_id: '',
  workspace_id: '',
  trigger: 'api',
  mode: 'sync',
  created_at: '',
};
const COLUMNS = Object.keys(TEMPLATE) as (keyof typeof TEMPLATE)[];

const insertQueuedRuns = compiledQueryForMany<Tables, unknown>((db, runCount) =>
  db
    .insertInto('claims')
    .values(Array.from({ length: runCount }, () => ({ ...TEMPLATE, waiting: '', held: 1 as const }))),
);

const dequeue = compiledQueryForMany<Tables, { engine_id: string }>((db, runCount) =>
  db
    .updateTable('claims')
    .set({ waiting: null, held: null, failure: null })
    .where(
      'engine_id',
      'in',
      Array.from({ length: runCount }, () => ''),
    )
    .where('waiting', 'is not', null)
    .returning('engine_id'),
);

/** Reserved run ids. */
export class ReservationStore implements Reservations {
  readonly #db: Db;
  readonly #insert: (...values: unknown[]) => Promise<unknown>;
  readonly queue: StartQueue;

  constructor(db: Db) {
    this.#db = db;
    this.#insert = compiledQuery(db, (builder) => builder.insertInto('claims').values(TEMPLATE));
    this.queue = new StoredQueue(db);
  }

  async reserve(reservation: NewReservation): Promise<boolean> {
    const row = rowOf(reservation);
    try {
      await this.#insert(...COLUMNS.map((column) => row[column]));
      return true;
    } catch (error) {
      if (isUniqueViolation(error)) return false;
      throw error;
    }
  }

  async release(engineRunId: string): Promise<void> {
    await this.#db.deleteFrom('claims').where('engine_id', '=', engineRunId).execute();
  }

  async fail(engineRunId: string, failure: ReservationFailure): Promise<void> {
    await this.#db
      .updateTable('claims')
      .set({ failure: JSON.stringify(failure) })
      .where('engine_id', '=', engineRunId)
      .execute();
  }

  async findByRunId(runId: string, workspaceIds: readonly string[]): Promise<Reservation[]> {
    if (workspaceIds.length === 0) return [];
    const rows = await this.#db
      .selectFrom('claims')
      .selectAll()
      .where('workspace_id', 'in', workspaceIds)
      .where('run_id', '=', runId)
      .execute();
    return rows.map(reservationOf);
  }

  async findByEngineRunIds(engineRunIds: readonly string[]): Promise<Map<string, Reservation>> {
    if (engineRunIds.length === 0) return new Map();
    const rows = await this.#db
      .selectFrom('claims')
      .selectAll()
      .where('engine_id', 'in', engineRunIds)
      .execute();
    return new Map(rows.map((row) => [row.engine_id, reservationOf(row)]));
  }
}

class StoredQueue implements StartQueue {
  readonly #db: Db;
  readonly #removalBatcher: Batcher<string, boolean>;

  constructor(db: Db) {
    this.#db = db;
    this.#removalBatcher = new Batcher(BATCH_SIZE, async (engineRunIds) => {
      const removedIds = await this.#dequeue(engineRunIds, null);
      return engineRunIds.map((engineRunId) => removedIds.has(engineRunId));
    });
  }

  async add(engineRunId: string, start: QueuedStart): Promise<void> {
    await this.#db
      .updateTable('claims')
      .set({ waiting: JSON.stringify(start) })
      .where('engine_id', '=', engineRunId)
      .execute();
  }

  async list(createdBefore?: string): Promise<QueuedRun[]> {
    const rows = await this.#db
      .selectFrom('claims')
      .select(['engine_id', 'run_id', 'workflow_id', 'workspace_id', 'waiting'])
      .where('waiting', 'is not', null)
      .where('held', 'is', null)
      .$if(createdBefore !== undefined, (query) => query.where('created_at', '<', createdBefore as string))
      .orderBy('created_at')
      .execute();
    return rows.map((row) => ({
      engineRunId: row.engine_id,
      runId: row.run_id,
      workflowId: row.workflow_id,
      workspaceId: row.workspace_id,
      start: JSON.parse(row.waiting ?? 'null') as QueuedStart,
    }));
  }

  async remove(engineRunId: string, failure?: ReservationFailure): Promise<boolean> {
    if (!failure) return this.#removalBatcher.add(engineRunId);
    return (await this.#dequeue([engineRunId], JSON.stringify(failure))).has(engineRunId);
  }

  /** Removes runs from the queue. Returns those that were in the queue. */
  async #dequeue(engineRunIds: readonly string[], failure: string | null): Promise<Set<string>> {
    const rows = await dequeue(this.#db, engineRunIds.length, [null, null, failure, ...engineRunIds]);
    return new Set(rows.map(({ engine_id }) => engine_id));
  }
}

function rowOf({
  engineRunId,
  runId,
  workflowId,
  workspaceId,
  trigger,
  mode,
  createdAt,
}: NewReservation): NewReservationRow {
  return {
    engine_id: engineRunId,
    run_id: runId,
    workflow_id: workflowId,
    workspace_id: workspaceId,
    trigger,
    mode,
    created_at: createdAt,
  };
}

function reservationOf(row: ReservationRow): Reservation {
  return {
    engineRunId: row.engine_id,
    runId: row.run_id,
    workflowId: row.workflow_id,
    workspaceId: row.workspace_id,
    trigger: row.trigger,
    mode: row.mode,
    createdAt: row.created_at,
    isQueued: row.waiting !== null,
    failure: row.failure === null ? undefined : (JSON.parse(row.failure) as ReservationFailure),
  };
}
