import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ResolvedChild } from '@heddle/engine';
import { makePrivateData, makePrivateFile } from '@heddle/engine/stores';
import { KeyStore } from '../areas/keys/store.ts';
import { PublicRunStore } from '../areas/runs/public-runs.ts';
import { ReservationStore } from '../areas/runs/store.ts';
import { WorkflowStore } from '../areas/workflows/store.ts';
import { AuditStore } from './audit.ts';
import { openDatabase } from './database.ts';
import type { DatabasePlace } from './database.ts';
import { WorkspaceStore } from './workspaces.ts';

/** Where the service keeps what is its own; without a place, in memory. */
export interface ApiStoreOptions {
  /** A data folder: `api.db` in it, and the secret that keys are hashed with. */
  data?: string;
  /** A PostgreSQL database in its place, for several processes; `secret` is required then. */
  postgres?: { url: string; schema?: string; maxConnections?: number };
  /** What keys are hashed with: at least 32 characters, the same in all processes. */
  secret?: string;
}

/** Workspaces, people, keys, drafts and versions, claims of run ids, audit. Plans, runs and logs are the engine's. */
export interface ApiStore {
  readonly workspaces: WorkspaceStore;
  readonly keys: KeyStore;
  readonly workflows: WorkflowStore;
  readonly reservations: ReservationStore;
  readonly publicRuns: PublicRunStore;
  readonly audit: AuditStore;
  close(): Promise<void>;
}

/** Which workflows may run which, and whose they are: all that a process needs that only runs them. */
export interface WorkflowOwnership {
  resolveChild(caller: string, reference: string): Promise<ResolvedChild | undefined>;
  tenant(workflowId: string): Promise<string | undefined>;
  /** The id of the workspace that was made first; undefined: there is none. */
  oldestWorkspace(): Promise<string | undefined>;
  close(): Promise<void>;
}

const SHORTEST_SECRET = 32;

/** Opens the store, and makes or migrates its tables. */
export async function openApiStore(options: ApiStoreOptions = {}): Promise<ApiStore> {
  const place = placeOf(options);
  const secret = secretOf(options);
  const db = await openDatabase(place);
  return {
    workspaces: new WorkspaceStore(db),
    keys: new KeyStore(db, secret),
    workflows: new WorkflowStore(db),
    reservations: new ReservationStore(db),
    publicRuns: new PublicRunStore(db),
    audit: new AuditStore(db),
    close: () => db.destroy(),
  };
}

/** Opens of the records what workers need, for which there is no secret; makes or migrates the tables. */
export async function openWorkflowOwnership(
  options: Omit<ApiStoreOptions, 'secret'>,
): Promise<WorkflowOwnership> {
  const db = await openDatabase(placeOf(options));
  const workflows = new WorkflowStore(db);
  const workspaces = new WorkspaceStore(db);
  return {
    resolveChild: (caller, reference) => workflows.resolveChild(caller, reference),
    tenant: (workflowId) => workflows.tenant(workflowId),
    oldestWorkspace: () => workspaces.oldest(),
    close: () => db.destroy(),
  };
}

/** The place of the database; its folder and file are made, for this user alone. */
function placeOf({ data, postgres }: ApiStoreOptions): DatabasePlace {
  if (postgres) return postgres;
  if (data === undefined) return { file: ':memory:' };
  makePrivateData(data, (error) => process.emitWarning(error.message, 'HeddleWarning'));
  const file = join(data, 'api.db');
  makePrivateFile(file);
  return { file };
}

function secretOf({ data, postgres, secret }: ApiStoreOptions): string {
  if (secret !== undefined) {
    if (secret.length >= SHORTEST_SECRET) return secret;
    throw new RangeError(`The secret that keys are hashed with has at least ${SHORTEST_SECRET} characters.`);
  }
  if (postgres) {
    throw new RangeError(
      'On PostgreSQL a secret is needed to hash keys with: give `secret`, the same to all processes.',
    );
  }
  return data === undefined ? newSecret() : keptSecret(data);
}

/** The secret of the folder; the first process makes it. */
function keptSecret(data: string): string {
  const file = join(data, 'api-secret');
  try {
    writeFileSync(file, newSecret(), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8');
}

function newSecret(): string {
  return randomBytes(SHORTEST_SECRET).toString('base64url');
}
