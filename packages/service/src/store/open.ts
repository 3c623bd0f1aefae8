import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from '@heddle/api';
import type { Definitions } from '@heddle/api/ports';
import { makeDataFolderPrivate, makePrivateFile } from '@heddle/engine/stores';
import type { TenantCredentials, TenantEnvironments } from '@heddle/engine';
import type { Kysely } from 'kysely';
import { CREDENTIAL_MIGRATIONS } from '../credentials/migrations.ts';
import type { RefreshOptions } from '../credentials/refresh.ts';
import { storedCredentials } from '../credentials/tenant-credentials.ts';
import { LOG_MIGRATIONS } from '../logs/migrations.ts';
import { SANDBOX_MIGRATIONS } from '../sandboxes/migrations.ts';
import type { Sealer } from '../sealing.ts';
import { secretEnvironments } from '../secrets/environments.ts';
import { SECRET_MIGRATIONS } from '../secrets/migrations.ts';
import { SKILL_MIGRATIONS } from '../skills/migrations.ts';
import { storedSkills } from '../skills/tenant-skills.ts';
import type { TenantSkills } from '../skills/tenant-skills.ts';
import { EVENT_MIGRATIONS } from '../triggers/events/migrations.ts';
import { FEED_MIGRATIONS } from '../triggers/feeds/migrations.ts';
import { TRIGGER_MIGRATIONS } from '../triggers/migrations.ts';
import { WEBHOOK_MIGRATIONS } from '../triggers/webhooks/migrations.ts';
import { TRANSFER_MIGRATIONS } from '../transfer/migrations.ts';
import { createStoredDefinitions } from '../workflows/definitions.ts';
import { WORKFLOW_MIGRATIONS } from '../workflows/migrations.ts';
import { WORKSPACE_MIGRATIONS } from '../workspaces/migrations.ts';
import { AuditStore } from './audit.ts';
import { openDatabase } from './database.ts';
import type { DatabaseLocation, OpenDatabase } from './database.ts';
import { KeyStore } from './keys.ts';
import { PublicRunStore } from './public-runs.ts';
import { ReservationStore } from './reservations.ts';
import { Sessions } from './sessions.ts';
import { WorkflowStore } from './workflows.ts';
import { WorkspaceStore } from './workspaces.ts';

/**
 * The migrations that run when the store opens, by area (a module of API operations with its own tables). The
 * migrations of other areas run when the area opens.
 */
const AREA_MIGRATIONS = {
  credentials: CREDENTIAL_MIGRATIONS,
  events: EVENT_MIGRATIONS,
  feeds: FEED_MIGRATIONS,
  logs: LOG_MIGRATIONS,
  sandboxes: SANDBOX_MIGRATIONS,
  secrets: SECRET_MIGRATIONS,
  skills: SKILL_MIGRATIONS,
  transfer: TRANSFER_MIGRATIONS,
  triggers: TRIGGER_MIGRATIONS,
  webhooks: WEBHOOK_MIGRATIONS,
  workflows: WORKFLOW_MIGRATIONS,
  workspaces: WORKSPACE_MIGRATIONS,
};

/** Where the service stores its records. Without `data` and `postgres`: in memory. */
export interface ServiceStoreOptions {
  /** A data folder. The store creates `api.db` in it, and the secret for key hashes. */
  data?: string;
  /** A PostgreSQL database instead, for several processes. It needs `secret`. */
  postgres?: { url: string; schema?: string; maxConnections?: number };
  /** The secret for key hashes: at least 32 characters, the same in all processes. */
  secret?: string;
}

/**
 * Workspaces, users, keys, drafts and versions, reserved run ids, audit, and the tables of all areas. The engine
 * stores plans, runs and logs.
 */
export interface ServiceStore extends Database {
  readonly workspaces: WorkspaceStore;
  readonly keys: KeyStore;
  readonly sessions: Sessions;
  readonly workflows: WorkflowStore;
  readonly definitions: Definitions;
  readonly reservations: ReservationStore;
  readonly publicRuns: PublicRunStore;
  readonly audit: AuditStore;
  close(): Promise<void>;
}

/**
 * The part of the store that workers need: which workspace a workflow belongs to, which workflow a block calls, and the
 * secrets, credentials and skills of workspaces.
 */
export interface WorkerStore extends Pick<Definitions, 'resolveChild' | 'tenant'> {
  /** Returns the id of the oldest workspace; undefined when there is none. */
  findOldestWorkspaceId(): Promise<string | undefined>;
  secrets: TenantEnvironments;
  credentials: TenantCredentials;
  skills: TenantSkills;
  /** For `openSandboxes`. */
  database: Kysely<unknown>;
  close(): Promise<void>;
}

const MIN_SECRET_LENGTH = 32;

/** Opens the store. Creates or migrates its tables. */
export async function openServiceStore(options: ServiceStoreOptions = {}): Promise<ServiceStore> {
  const location = prepareLocation(options);
  const secret = secretOf(options);
  const { db, migrate } = await openAndMigrate(location);
  const keys = new KeyStore(db, secret);
  return {
    database: db as unknown as Kysely<unknown>,
    migrate: async (area, migrations) => {
      if (!Object.hasOwn(AREA_MIGRATIONS, area)) await migrate(area, migrations);
    },
    workspaces: new WorkspaceStore(db),
    keys,
    sessions: new Sessions(secret, keys),
    workflows: new WorkflowStore(db),
    definitions: createStoredDefinitions(db),
    reservations: new ReservationStore(db),
    publicRuns: new PublicRunStore(db),
    audit: new AuditStore(db),
    close: () => db.destroy(),
  };
}

/**
 * Opens the part of the store that workers need, without a secret for keys. `sealer` decrypts the secrets and
 * credentials of workspaces. `refreshOptions` configures how access tokens are refreshed; without it, they are not.
 */
export async function openWorkerStore(
  options: Omit<ServiceStoreOptions, 'secret'>,
  sealer: Sealer,
  refreshOptions?: RefreshOptions,
): Promise<WorkerStore> {
  const { db } = await openAndMigrate(prepareLocation(options));
  const workspaces = new WorkspaceStore(db);
  const database = db as unknown as Kysely<unknown>;
  return {
    ...createStoredDefinitions(db),
    database,
    findOldestWorkspaceId: () => workspaces.findOldestId(),
    secrets: secretEnvironments(database, sealer),
    credentials: storedCredentials(database, sealer, refreshOptions),
    skills: storedSkills(database),
    close: () => db.destroy(),
  };
}

async function openAndMigrate(location: DatabaseLocation): Promise<OpenDatabase> {
  const database = await openDatabase(location);
  try {
    for (const [area, migrations] of Object.entries(AREA_MIGRATIONS))
      await database.migrate(area, migrations);
  } catch (error) {
    await database.db.destroy();
    throw error;
  }
  return database;
}

/** Returns the location of the database. Creates its folder and file, readable only by this user. */
function prepareLocation({ data, postgres }: ServiceStoreOptions): DatabaseLocation {
  if (postgres) return postgres;
  if (data === undefined) return { file: ':memory:' };
  makeDataFolderPrivate(data, (error) => process.emitWarning(error.message, 'HeddleWarning'));
  const file = join(data, 'api.db');
  makePrivateFile(file);
  return { file };
}

function secretOf({ data, postgres, secret }: ServiceStoreOptions): string {
  if (secret !== undefined) {
    if (secret.length >= MIN_SECRET_LENGTH) return secret;
    throw new RangeError(`The secret for key hashes must have at least ${MIN_SECRET_LENGTH} characters.`);
  }
  if (postgres) {
    throw new RangeError(
      'PostgreSQL needs a secret for key hashes: set `secret` to the same value in all processes.',
    );
  }
  return data === undefined ? generateSecret() : readOrCreateSecret(data);
}

/** Returns the secret of the data folder. The first process creates it. */
function readOrCreateSecret(dataFolder: string): string {
  const file = join(dataFolder, 'api-secret');
  try {
    writeFileSync(file, generateSecret(), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(file, 'utf8');
}

function generateSecret(): string {
  return randomBytes(MIN_SECRET_LENGTH).toString('base64url');
}
