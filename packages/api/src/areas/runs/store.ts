import type { Json } from '@heddle/core';
import { compiled } from '../../store/compiled.ts';
import { isDuplicate } from '../../store/database.ts';
import type { Db } from '../../store/database.ts';
import type { ReservationRow } from '../../store/schema.ts';
import type { RunIds } from './ids.ts';
import type { RunErrorCode } from './schemas.ts';

/** What a queued run starts with. */
export interface QueuedStart {
  input: Json;
  /** Version of the engine's deployment. */
  version: number;
  /** Id of the block at which the run begins; absent: the version's default. */
  start?: string;
  timeoutMs?: number;
  /** Workflows that called each other up to this run. */
  via?: string[];
  /** The stored files have owners. Absent: an earlier version, which did not record owners, has queued the run. */
  ownsFiles?: true;
}

/** A run in the queue. */
export interface QueuedRun extends RunIds {
  workflowId: string;
  start: QueuedStart;
}

/** Why a run was not started. `CANCELLED`: it was cancelled in the queue. */
export interface ReservationFailure {
  reason: RunErrorCode;
  message: string;
}

/** A reservation without a queued start. */
export type NewReservation = Omit<ReservationRow, 'waiting' | 'failure'>;

/** Gives the order of the columns in the insert statement. */
const TEMPLATE: NewReservation = {
  engine_id: '',
  run_id: '',
  workflow_id: '',
  workspace_id: '',
  trigger: 'api',
  mode: 'sync',
  created_at: '',
};
const COLUMNS = Object.keys(TEMPLATE) as (keyof typeof TEMPLATE)[];

/** Reserved run ids, and the queue of runs to start. A reservation is permanent, unless its run was never created. */
export class ReservationStore {
  readonly #db: Db;
  readonly #insert: (...values: unknown[]) => Promise<unknown>;

  constructor(db: Db) {
    this.#db = db;
    this.#insert = compiled(db, (query) => query.insertInto('claims').values(TEMPLATE));
  }

  /** False when the workspace has used the id before. */
  async reserve(reservation: NewReservation): Promise<boolean> {
    try {
      await this.#insert(...COLUMNS.map((column) => reservation[column]));
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  /** Queues the run of a reserved id. */
  async enqueue(engineId: string, start: QueuedStart): Promise<void> {
    await this.#db
      .updateTable('claims')
      .set({ waiting: JSON.stringify(start) })
      .where('engine_id', '=', engineId)
      .execute();
  }

  /** Frees the id of a run that was never created. */
  async release(engineId: string): Promise<void> {
    await this.#db.deleteFrom('claims').where('engine_id', '=', engineId).execute();
  }

  /** Records why the run of a reserved id was not started. The id stays used. */
  async fail(engineId: string, failure: ReservationFailure): Promise<void> {
    await this.#db
      .updateTable('claims')
      .set({ failure: JSON.stringify(failure) })
      .where('engine_id', '=', engineId)
      .execute();
  }

  /** Returns the reservation with the engine's id. */
  async find(engineId: string): Promise<ReservationRow | undefined> {
    return (await this.byEngineIds([engineId])).get(engineId);
  }

  /** Returns the reservation of a run id in a workspace. */
  async findIn(workspaceId: string, runId: string): Promise<ReservationRow | undefined> {
    return this.#db
      .selectFrom('claims')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('run_id', '=', runId)
      .executeTakeFirst();
  }

  /** Returns the reservations of a run id in all workspaces of the person. */
  async findOf(userId: string, runId: string): Promise<ReservationRow[]> {
    return this.#db
      .selectFrom('claims')
      .innerJoin('members', 'members.workspace_id', 'claims.workspace_id')
      .selectAll('claims')
      .where('members.user_id', '=', userId)
      .where('claims.run_id', '=', runId)
      .execute();
  }

  /** Returns the reservations with these ids of the engine, by id. */
  async byEngineIds(engineIds: readonly string[]): Promise<Map<string, ReservationRow>> {
    if (engineIds.length === 0) return new Map();
    const rows = await this.#db
      .selectFrom('claims')
      .selectAll()
      .where('engine_id', 'in', engineIds)
      .execute();
    return new Map(rows.map((row) => [row.engine_id, row]));
  }

  /** Returns the queued runs, oldest first. With `before`: only those that were reserved before that time. */
  async queued(before?: string): Promise<QueuedRun[]> {
    const rows = await this.#db
      .selectFrom('claims')
      .select(['engine_id', 'run_id', 'workflow_id', 'waiting'])
      .where('waiting', 'is not', null)
      .$if(before !== undefined, (query) => query.where('created_at', '<', before as string))
      .orderBy('created_at')
      .execute();
    return rows.map((row) => ({
      engineId: row.engine_id,
      runId: row.run_id,
      workflowId: row.workflow_id,
      start: JSON.parse(row.waiting ?? 'null') as QueuedStart,
    }));
  }

  /** Takes the run from the queue: it was started, or it failed to start. False when it is not in the queue. */
  async dequeue(engineId: string, failure?: ReservationFailure): Promise<boolean> {
    const result = await this.#db
      .updateTable('claims')
      .set({ waiting: null, failure: failure ? JSON.stringify(failure) : null })
      .where('engine_id', '=', engineId)
      .where('waiting', 'is not', null)
      .executeTakeFirst();
    return Number(result.numUpdatedRows) > 0;
  }

  /** Returns how many runs each workflow has had, and when the last one was reserved. */
  async counts(workflowIds: readonly string[]): Promise<Map<string, { count: number; last: string | null }>> {
    if (workflowIds.length === 0) return new Map();
    const rows = await this.#db
      .selectFrom('claims')
      .select((eb) => ['workflow_id', eb.fn.countAll().as('count'), eb.fn.max('created_at').as('last')])
      .where('workflow_id', 'in', workflowIds)
      .groupBy('workflow_id')
      .execute();
    return new Map(rows.map((row) => [row.workflow_id, { count: Number(row.count), last: row.last }]));
  }
}
