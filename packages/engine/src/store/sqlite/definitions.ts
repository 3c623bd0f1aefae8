import type { DatabaseSync } from 'node:sqlite';
import type { DefinitionStore, Deployment, Json } from '@heddle/core';
import { parseStoredJson, unknownPlanError } from '../errors.ts';
import type { GroupCommit } from './commit.ts';
import { withFileErrors } from './database.ts';
import { FOREIGN_KEY_VIOLATION, sqliteCode } from './errors.ts';

const SELECT_DEPLOYMENT =
  'SELECT workflow_id AS workflowId, name, version, plan_hash AS planHash FROM deployments';

function prepare(db: DatabaseSync) {
  return {
    putPlan: db.prepare('INSERT OR IGNORE INTO plans (hash, plan) VALUES (?, ?)'),
    plan: db.prepare('SELECT plan FROM plans WHERE hash = ?'),
    deploy: db.prepare(
      'INSERT INTO deployments (workflow_id, version, name, plan_hash, deployed_ms) VALUES (?, ?, ?, ?, ?)',
    ),
    newestDeployment: db.prepare(`${SELECT_DEPLOYMENT} WHERE workflow_id = ? ORDER BY version DESC LIMIT 1`),
    deploymentByVersion: db.prepare(`${SELECT_DEPLOYMENT} WHERE workflow_id = ? AND version = ?`),
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
  readonly #statements: ReturnType<typeof prepare>;

  constructor(db: DatabaseSync, file: string, commit: GroupCommit) {
    this.#file = file;
    this.#commit = commit;
    this.#statements = prepare(db);
  }

  putPlan(hash: string, plan: Json): Promise<void> {
    const text = JSON.stringify(plan);
    return this.#commit.run(() => {
      this.#statements.putPlan.run(hash, text);
    });
  }

  plan(hash: string): Json | undefined {
    const row = withFileErrors(this.#file, () => this.#statements.plan.get(hash));
    return row && parseStoredJson(row['plan'] as string, `plan "${hash}"`);
  }

  deploy(deployment: { workflowId: string; name: string; planHash: string; atMs: number }): Promise<number> {
    const { workflowId, name, planHash, atMs } = deployment;
    return this.#commit.run(
      () => {
        const newestDeployment = this.#statements.newestDeployment.get(workflowId) as Deployment | undefined;
        if (newestDeployment?.planHash === planHash) return newestDeployment.version;
        const version = (newestDeployment?.version ?? 0) + 1;
        this.#statements.deploy.run(workflowId, version, name, planHash, atMs);
        return version;
      },
      (error) =>
        sqliteCode(error) === FOREIGN_KEY_VIOLATION ? unknownPlanError(workflowId, planHash) : error,
    );
  }

  find(workflow: string, version?: number): Deployment | undefined {
    return withFileErrors(this.#file, () => {
      const idByName = (): string | undefined =>
        this.#statements.idByName.get(workflow)?.['workflowId'] as string | undefined;
      const id = this.#statements.newestDeployment.get(workflow) ? workflow : idByName();
      if (id === undefined) return undefined;
      const row =
        version === undefined
          ? this.#statements.newestDeployment.get(id)
          : this.#statements.deploymentByVersion.get(id, version);
      return row && ({ ...row } as unknown as Deployment);
    });
  }
}
