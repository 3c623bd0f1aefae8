import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ResolvedChild } from '@heddle/engine';
import type { Kysely } from 'kysely';
import { makePrivateData, makePrivateFile } from '@heddle/engine/stores';
import { KeyStore } from '../areas/keys/store.ts';
import { PublicRunStore } from '../areas/runs/public-runs.ts';
import { ReservationStore } from '../areas/runs/store.ts';
import { WorkflowStore } from '../areas/workflows/store.ts';
import { AuditStore } from './audit.ts';
import { openDatabase } from './database.ts';
import type { AreaMigrations, DatabaseLocation } from './database.ts';
import { MIGRATIONS } from './migrations.ts';
import { WorkspaceStore } from './workspaces.ts';

/** Where the API keeps its records. Without `data` and `postgres`: in memory. */
export interface ApiStoreOptions {
  /** A data folder. The store creates `api.db` in it, and the secret for key hashes. */
  data?: string;
  /** A PostgreSQL database instead, for several processes. It needs `secret`. */
  postgres?: { url: string; schema?: string; maxConnections?: number };
  /** Migrations of further tables, by area: forward only, in the order of their names. */
  migrations?: AreaMigrations;
  /** The secret for key hashes: at least 32 characters, the same in all processes. */
  secret?: string;
}

/** Workspaces, people, keys, drafts and versions, reserved run ids, audit. The engine stores plans, runs and logs. */
export interface ApiStore {
  readonly workspaces: WorkspaceStore;
  readonly keys: KeyStore;
  readonly workflows: WorkflowStore;
  readonly reservations: ReservationStore;
  readonly publicRuns: PublicRunStore;
  readonly audit: AuditStore;
  /** The database, for the tables of `migrations`. */
  readonly database: Kysely<unknown>;
  close(): Promise<void>;
}

/** The workspaces of workflows: all that a process needs that runs workflows and serves no API. */
export interface WorkflowOwnership {
  /** For the engine's `resolveChild`. */
  resolveChild(caller: string, reference: string): Promise<ResolvedChild | undefined>;
  /** For the engine's `tenant`. */
  tenant(workflowId: string): Promise<string | undefined>;
  /** Returns the id of the oldest workspace; undefined when there is none. */
  oldestWorkspace(): Promise<string | undefined>;
  /** The database, for the tables of `migrations`. */
  readonly database: Kysely<unknown>;
  close(): Promise<void>;
}

const MIN_SECRET_LENGTH = 32;

/** Opens the store. Creates or migrates its tables. */
export async function openApiStore(options: ApiStoreOptions = {}): Promise<ApiStore> {
  const location = locationOf(options);
  const secret = secretOf(options);
  const db = await openDatabase(location, MIGRATIONS, options.migrations);
  return {
    database: db as unknown as Kysely<unknown>,
    workspaces: new WorkspaceStore(db),
    keys: new KeyStore(db, secret),
    workflows: new WorkflowStore(db),
    reservations: new ReservationStore(db),
    publicRuns: new PublicRunStore(db),
    audit: new AuditStore(db),
    close: () => db.destroy(),
  };
}

/** Opens the part of the store that workers need. It needs no secret. Creates or migrates the tables. */
export async function openWorkflowOwnership(
  options: Omit<ApiStoreOptions, 'secret'>,
): Promise<WorkflowOwnership> {
  const db = await openDatabase(locationOf(options), MIGRATIONS, options.migrations);
  const workflows = new WorkflowStore(db);
  const workspaces = new WorkspaceStore(db);
  return {
    database: db as unknown as Kysely<unknown>,
    resolveChild: (caller, reference) => workflows.resolveChild(caller, reference),
    tenant: (workflowId) => workflows.tenant(workflowId),
    oldestWorkspace: () => workspaces.oldest(),
    close: () => db.destroy(),
  };
}

/** Returns where the database is. Creates its folder and file, readable only by this user. */
function locationOf({ data, postgres }: ApiStoreOptions): DatabaseLocation {
  if (postgres) return postgres;
  if (data === undefined) return { file: ':memory:' };
  makePrivateData(data, (error) => process.emitWarning(error.message, 'HeddleWarning'));
  const file = join(data, 'api.db');
  makePrivateFile(file);
  return { file };
}

function secretOf({ data, postgres, secret }: ApiStoreOptions): string {
  if (secret !== undefined) {
    if (secret.length >= MIN_SECRET_LENGTH) return secret;
    throw new RangeError(`The secret for key hashes has at least ${MIN_SECRET_LENGTH} characters.`);
  }
  if (postgres) {
    throw new RangeError(
      'PostgreSQL needs a secret for key hashes: set `secret` to the same value in all processes.',
    );
  }
  return data === undefined ? newSecret() : secretIn(data);
}

/** Returns the secret of the data folder. The first process creates it. */
function secretIn(data: string): string {
  const file = join(data, 'api-secret');
  try {
    writeFileSync(file, newSecret(), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8');
}

function newSecret(): string {
  return randomBytes(MIN_SECRET_LENGTH).toString('base64url');
}
