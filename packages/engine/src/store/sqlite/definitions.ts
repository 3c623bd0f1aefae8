import type { DatabaseSync } from 'node:sqlite';
import type { DefinitionStore, Deployment, Json } from '@heddle/core';
import { parseStored, unknownPlan } from '../errors.ts';
import type { GroupCommit } from './commit.ts';
import { withFileErrors } from './database.ts';
import { FOREIGN_KEY, sqliteCode } from './errors.ts';

const SELECT_DEPLOYMENT =
  'SELECT workflow_id AS workflowId, name, version, plan_hash AS planHash FROM deployments';

function prepare(db: DatabaseSync) {
  return {
    putPlan: db.prepare('INSERT OR IGNORE INTO plans (hash, plan) VALUES (?, ?)'),
    plan: db.prepare('SELECT plan FROM plans WHERE hash = ?'),
    deploy: db.prepare(
      'INSERT INTO deployments (workflow_id, version, name, plan_hash, deployed_ms) VALUES (?, ?, ?, ?, ?)',
    ),
    newest: db.prepare(`${SELECT_DEPLOYMENT} WHERE workflow_id = ? ORDER BY version DESC LIMIT 1`),
    version: db.prepare(`${SELECT_DEPLOYMENT} WHERE workflow_id = ? AND version = ?`),
    // The id of the workflow whose newest version has this name; of several, the one that was deployed last.
    idByName: db.prepare(`
      SELECT workflow_id AS workflowId FROM deployments AS d WHERE name = ? AND version =
        (SELECT max(version) FROM deployments WHERE workflow_id = d.workflow_id)
      ORDER BY position DESC LIMIT 1`),
  };
}

/** Plans and deployments in the data file. */
export class SqliteDefinitionStore implements DefinitionStore {
  readonly #file: string;
  readonly #commit: GroupCommit;
  readonly #sql: ReturnType<typeof prepare>;

  constructor(db: DatabaseSync, file: string, commit: GroupCommit) {
    this.#file = file;
    this.#commit = commit;
    this.#sql = prepare(db);
  }

  putPlan(hash: string, plan: Json): Promise<void> {
    const text = JSON.stringify(plan);
    return this.#commit.run(() => {
      this.#sql.putPlan.run(hash, text);
    });
  }

  plan(hash: string): Json | undefined {
    const row = withFileErrors(this.#file, () => this.#sql.plan.get(hash));
    return row && parseStored(row['plan'] as string, `plan "${hash}"`);
  }

  deploy(deployment: { workflowId: string; name: string; planHash: string; atMs: number }): Promise<number> {
    const { workflowId, name, planHash, atMs } = deployment;
    return this.#commit.run(
      () => {
        const newest = this.#sql.newest.get(workflowId) as Deployment | undefined;
        if (newest?.planHash === planHash) return newest.version;
        const version = (newest?.version ?? 0) + 1;
        this.#sql.deploy.run(workflowId, version, name, planHash, atMs);
        return version;
      },
      (error) => (sqliteCode(error) === FOREIGN_KEY ? unknownPlan(workflowId, planHash) : error),
    );
  }

  find(workflow: string, version?: number): Deployment | undefined {
    return withFileErrors(this.#file, () => {
      const idByName = (): string | undefined =>
        this.#sql.idByName.get(workflow)?.['workflowId'] as string | undefined;
      const id = this.#sql.newest.get(workflow) ? workflow : idByName();
      if (id === undefined) return undefined;
      const row = version === undefined ? this.#sql.newest.get(id) : this.#sql.version.get(id, version);
      return row && ({ ...row } as unknown as Deployment);
    });
  }
}
