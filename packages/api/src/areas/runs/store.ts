import type { Json } from '@heddle/core';
import { compiled } from '../../store/compiled.ts';
import { isDuplicate } from '../../store/database.ts';
import type { Db } from '../../store/database.ts';
import type { ClaimRow } from '../../store/schema.ts';
import type { RunErrorCode } from './schemas.ts';

/** What an accepted run is started with. */
export interface Waiting {
  input: Json;
  /** Version of the engine's deployment. */
  version: number;
  timeoutMs?: number;
}

/** Why no run has come of a claim; `CANCELLED`: it was taken back. */
export interface ClaimFailure {
  reason: RunErrorCode;
  message: string;
}

/** The form of a new claim: the statement has its columns in this order. */
const NEW: Omit<ClaimRow, 'waiting' | 'failure'> = {
  run_id: '',
  workflow_id: '',
  workspace_id: '',
  trigger: 'api',
  mode: 'sync',
  created_at: '',
};
const COLUMNS = Object.keys(NEW) as (keyof typeof NEW)[];

/** Ids of runs that were claimed. A claim stays for ever, unless nothing came of it. */
export class ClaimStore {
  readonly #db: Db;
  readonly #insert: (...values: unknown[]) => Promise<unknown>;

  constructor(db: Db) {
    this.#db = db;
    this.#insert = compiled(db, (of) => of.insertInto('claims').values(NEW));
  }

  /** False when the id was claimed before. */
  async claim(claim: Omit<ClaimRow, 'waiting' | 'failure'>): Promise<boolean> {
    try {
      await this.#insert(...COLUMNS.map((column) => claim[column]));
      return true;
    } catch (error) {
      if (isDuplicate(error)) return false;
      throw error;
    }
  }

  /** Records what the run of a claimed id is to be started with: from now on it is accepted. */
  async enqueue(runId: string, waiting: Waiting): Promise<void> {
    await this.#db
      .updateTable('claims')
      .set({ waiting: JSON.stringify(waiting) })
      .where('run_id', '=', runId)
      .execute();
  }

  /** Gives an id back of which no run has come. */
  async release(runId: string): Promise<void> {
    await this.#db.deleteFrom('claims').where('run_id', '=', runId).execute();
  }

  /** Records why no run has come of a claimed id, which stays used. */
  async fail(runId: string, failure: ClaimFailure): Promise<void> {
    await this.#db
      .updateTable('claims')
      .set({ failure: JSON.stringify(failure) })
      .where('run_id', '=', runId)
      .execute();
  }

  async find(runId: string): Promise<ClaimRow | undefined> {
    return this.#db.selectFrom('claims').selectAll().where('run_id', '=', runId).executeTakeFirst();
  }

  /** The claims of those runs, by their ids. */
  async of(runIds: readonly string[]): Promise<Map<string, ClaimRow>> {
    if (runIds.length === 0) return new Map();
    const rows = await this.#db.selectFrom('claims').selectAll().where('run_id', 'in', runIds).execute();
    return new Map(rows.map((row) => [row.run_id, row]));
  }

  /** Accepted runs that were not started yet, oldest first: those of before that time, or all. */
  async waiting(before?: string): Promise<{ runId: string; workflowId: string; waiting: Waiting }[]> {
    const rows = await this.#db
      .selectFrom('claims')
      .select(['run_id', 'workflow_id', 'waiting'])
      .where('waiting', 'is not', null)
      .$if(before !== undefined, (of) => of.where('created_at', '<', before as string))
      .orderBy('created_at')
      .execute();
    return rows.map((row) => ({
      runId: row.run_id,
      workflowId: row.workflow_id,
      waiting: JSON.parse(row.waiting ?? 'null') as Waiting,
    }));
  }

  /**
   * The accepted run has been started, or has not come to that for the reason of `failure`. False when that is settled
   * already.
   */
  async settled(runId: string, failure?: ClaimFailure): Promise<boolean> {
    const result = await this.#db
      .updateTable('claims')
      .set({ waiting: null, failure: failure ? JSON.stringify(failure) : null })
      .where('run_id', '=', runId)
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
