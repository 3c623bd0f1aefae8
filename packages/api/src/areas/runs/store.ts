import type { Json } from '@heddle/core';
import { compiled } from '../../store/compiled.ts';
import { isDuplicate } from '../../store/database.ts';
import type { Db } from '../../store/database.ts';
import type { ReservationRow } from '../../store/schema.ts';
import type { RunIds } from './ids.ts';
import type { RunErrorCode } from './schemas.ts';

/** What an accepted run is started with. */
export interface QueuedStart {
  input: Json;
  /** Version of the engine's deployment. */
  version: number;
  /** Id of the block at which the run begins; absent: the version's default. */
  start?: string;
  timeoutMs?: number;
  /** Workflows that called each other up to this run. */
  via?: string[];
  /** Its files were stored with their owner. Absent: it was accepted by a version that did not do that yet. */
  ownsFiles?: true;
}

/** A run that was accepted. */
export interface AcceptedRun extends RunIds {
  workflowId: string;
  waiting: QueuedStart;
}

/** Why no run has come of a claim; `CANCELLED`: it was taken back. */
export interface ReservationFailure {
  reason: RunErrorCode;
  message: string;
}

/** A claim of a run that is to be started. */
export type NewReservation = Omit<ReservationRow, 'waiting' | 'failure'>;

/** The form of a new claim: the statement has its columns in this order. */
const NEW: NewReservation = {
  engine_id: '',
  run_id: '',
  workflow_id: '',
  workspace_id: '',
  trigger: 'api',
  mode: 'sync',
  created_at: '',
};
const COLUMNS = Object.keys(NEW) as (keyof typeof NEW)[];

/** Ids of runs that were claimed. A claim stays for ever, unless nothing came of it. */
export class ReservationStore {
  readonly #db: Db;
  readonly #insert: (...values: unknown[]) => Promise<unknown>;

  constructor(db: Db) {
    this.#db = db;
    this.#insert = compiled(db, (of) => of.insertInto('claims').values(NEW));
  }

  /** False when the workspace has used the id before. */
  async reserve(claim: NewReservation): Promise<boolean> {
    try {
      await this.#insert(...COLUMNS.map((column) => claim[column]));
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  /** Records what the run of a claimed id is to be started with: from now on it is accepted. */
  async enqueue(engineId: string, waiting: QueuedStart): Promise<void> {
    await this.#db
      .updateTable('claims')
      .set({ waiting: JSON.stringify(waiting) })
      .where('engine_id', '=', engineId)
      .execute();
  }

  /** Gives an id back of which no run has come. */
  async release(engineId: string): Promise<void> {
    await this.#db.deleteFrom('claims').where('engine_id', '=', engineId).execute();
  }

  /** Records why no run has come of a claimed id, which stays used. */
  async fail(engineId: string, failure: ReservationFailure): Promise<void> {
    await this.#db
      .updateTable('claims')
      .set({ failure: JSON.stringify(failure) })
      .where('engine_id', '=', engineId)
      .execute();
  }

  /** The claim of the run that the engine knows by this id. */
  async find(engineId: string): Promise<ReservationRow | undefined> {
    return (await this.of([engineId])).get(engineId);
  }

  /** The claim of the run that the workspace knows by this id. */
  async findIn(workspaceId: string, runId: string): Promise<ReservationRow | undefined> {
    return this.#db
      .selectFrom('claims')
      .selectAll()
      .where('workspace_id', '=', workspaceId)
      .where('run_id', '=', runId)
      .executeTakeFirst();
  }

  /** The claims of this id in all workspaces of the person. */
  async findOf(userId: string, runId: string): Promise<ReservationRow[]> {
    return this.#db
      .selectFrom('claims')
      .innerJoin('members', 'members.workspace_id', 'claims.workspace_id')
      .selectAll('claims')
      .where('members.user_id', '=', userId)
      .where('claims.run_id', '=', runId)
      .execute();
  }

  /** The claims of these runs, by the engine's ids. */
  async of(engineIds: readonly string[]): Promise<Map<string, ReservationRow>> {
    if (engineIds.length === 0) return new Map();
    const rows = await this.#db
      .selectFrom('claims')
      .selectAll()
      .where('engine_id', 'in', engineIds)
      .execute();
    return new Map(rows.map((row) => [row.engine_id, row]));
  }

  /** Accepted runs that were not started yet, oldest first: those of before that time, or all. */
  async unstarted(before?: string): Promise<AcceptedRun[]> {
    const rows = await this.#db
      .selectFrom('claims')
      .select(['engine_id', 'run_id', 'workflow_id', 'waiting'])
      .where('waiting', 'is not', null)
      .$if(before !== undefined, (of) => of.where('created_at', '<', before as string))
      .orderBy('created_at')
      .execute();
    return rows.map((row) => ({
      engineId: row.engine_id,
      runId: row.run_id,
      workflowId: row.workflow_id,
      waiting: JSON.parse(row.waiting ?? 'null') as QueuedStart,
    }));
  }

  /**
   * The accepted run has been started, or has not come to that for the reason of `failure`. False when that is settled
   * already.
   */
  async settle(engineId: string, failure?: ReservationFailure): Promise<boolean> {
    const result = await this.#db
      .updateTable('claims')
      .set({ waiting: null, failure: failure ? JSON.stringify(failure) : null })
      .where('engine_id', '=', engineId)
      .where('waiting', 'is not', null)
      .executeTakeFirst();
    return Number(result.numUpdatedRows) > 0;
  }

  /** How many runs the workflows have had, and when the last one was started. */
  async counts(workflowIds: readonly string[]): Promise<Map<string, { count: number; last: string | null }>> {
    if (workflowIds.length === 0) return new Map();
    const rows = await this.#db
      .selectFrom('claims')
      .select((of) => ['workflow_id', of.fn.countAll().as('count'), of.fn.max('created_at').as('last')])
      .where('workflow_id', 'in', workflowIds)
      .groupBy('workflow_id')
      .execute();
    return new Map(rows.map((row) => [row.workflow_id, { count: Number(row.count), last: row.last }]));
  }
}
