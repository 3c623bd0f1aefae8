import type { DefinitionStore, Deployment, Json } from '@heddle/core';
import { sql } from 'kysely';
import { parseStoredJson, unknownPlanError } from '../errors.ts';
import { isStorable } from '../stores.ts';
import type { Database } from './database.ts';
import { FOREIGN_KEY_VIOLATION, sqlState } from './errors.ts';

type NewDeployment = Parameters<DefinitionStore['deploy']>[0];

/** Plans and deployments in PostgreSQL. */
export class PostgresDefinitionStore implements DefinitionStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async putPlan(hash: string, plan: Json): Promise<void> {
    const query = this.#database.queryBuilder
      .insertInto('plans')
      .values({ hash, plan: JSON.stringify(plan) })
      .onConflict((conflict) => conflict.column('hash').doNothing());
    await this.#database.run(query);
  }

  async plan(hash: string): Promise<Json | undefined> {
    const query = this.#database.queryBuilder.selectFrom('plans').select('plan').where('hash', '=', hash);
    const [row] = (await this.#database.run(query)).rows;
    return row && parseStoredJson(row.plan, `plan "${hash}"`);
  }

  async deploy(deployment: NewDeployment): Promise<number> {
    const { workflowId, planHash } = deployment;
    const translate = (error: unknown): unknown =>
      sqlState(error) === FOREIGN_KEY_VIOLATION ? unknownPlanError(workflowId, planHash) : error;
    for (;;) {
      const [row] = (await this.#database.run(this.#deployQuery(deployment), translate)).rows;
      if (row) return row.version;
      // Another process has inserted this version number: try again with the next one.
    }
  }

  async find(workflow: string, version?: number): Promise<Deployment | undefined> {
    // The text may come from the input of a run, and PostgreSQL cannot store every character.
    if (!isStorable(workflow)) return undefined;
    const { queryBuilder } = this.#database;
    const idQuery = queryBuilder
      .selectFrom('deployments')
      .select('workflow_id')
      .where('workflow_id', '=', workflow)
      .limit(1);
    const query = queryBuilder
      .selectFrom('deployments')
      .select(['workflow_id as workflowId', 'name', 'version', 'plan_hash as planHash'])
      .where((eb) => eb('workflow_id', '=', eb.fn.coalesce(idQuery, this.#idByName(workflow))))
      .$if(version !== undefined, (qb) => qb.where('version', '=', version as number))
      .orderBy('version', 'desc')
      .limit(1);
    return (await this.#database.run(query)).rows[0];
  }

  /**
   * Returns a query for the id of the workflow whose newest version has this name; if there are several, of the one
   * that was deployed last.
   */
  #idByName(name: string) {
    return this.#database.queryBuilder
      .selectFrom('deployments as d')
      .select('d.workflow_id')
      .where('d.name', '=', name)
      .where('d.version', '=', (eb) =>
        eb
          .selectFrom('deployments as other')
          .select(({ fn }) => fn.max('other.version').as('newest'))
          .whereRef('other.workflow_id', '=', 'd.workflow_id'),
      )
      .orderBy('d.position', 'desc')
      .limit(1);
  }

  /**
   * Returns a query that inserts the deployment unless the newest version has the same plan. Its row is the version; it
   * has no row if another process has inserted this version in the meantime.
   */
  #deployQuery({ workflowId, name, planHash, atMs }: NewDeployment) {
    return this.#database.queryBuilder
      .with('newest', (db) =>
        db
          .selectFrom('deployments')
          .select(['version', 'plan_hash'])
          .where('workflow_id', '=', workflowId)
          .orderBy('version', 'desc')
          .limit(1),
      )
      .with('same', (db) => db.selectFrom('newest').select('version').where('plan_hash', '=', planHash))
      .with('added', (db) =>
        db
          .insertInto('deployments')
          .columns(['workflow_id', 'version', 'name', 'plan_hash', 'deployed_ms'])
          .expression(
            db
              .selectNoFrom([
                sql<string>`${workflowId}::text`.as('workflow_id'),
                sql<number>`coalesce((select version from newest), 0) + 1`.as('version'),
                sql<string>`${name}::text`.as('name'),
                sql<string>`${planHash}::text`.as('plan_hash'),
                sql<number>`${atMs}::bigint`.as('deployed_ms'),
              ])
              .where((eb) => eb.not(eb.exists(eb.selectFrom('same').select('version')))),
          )
          .onConflict((conflict) => conflict.columns(['workflow_id', 'version']).doNothing())
          .returning('version'),
      )
      .selectFrom('added')
      .select('version')
      .unionAll((db) => db.selectFrom('same').select('version'));
  }
}
