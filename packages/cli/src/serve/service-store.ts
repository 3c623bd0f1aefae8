import { join } from 'node:path';
import type { EngineOptions } from '@heddle/engine';
import type { RotatableKeys, Sealer, ServiceStore, WorkerStore } from '@heddle/service';
import type { BlockImages, OwnedImages } from '../block-images.ts';
import type { BlockOptions } from '../block-options.ts';
import { readEnv } from '../env.ts';
import { lazy } from '../lazy.ts';
import type { StoreOptions } from '../store-options.ts';
import { UsageError } from '../usage-error.ts';
import { refreshOptionsOf } from './oauth-clients.ts';

/** Environment variable with the secret for hashing API keys in PostgreSQL. */
const SECRET_VARIABLE = 'HEDDLE_API_SECRET';
const MIN_SECRET_CHARS = 32;

/** Opens the store of the HTTP API. Throws a usage error for a database without HEDDLE_API_SECRET. */
export async function openStore({ data, postgres }: StoreOptions): Promise<ServiceStore> {
  const secret = readEnv().value(SECRET_VARIABLE);
  const { openServiceStore } = await import('@heddle/service');
  if (postgres === undefined) return openServiceStore({ data });
  if (secret === undefined || secret.length < MIN_SECRET_CHARS) {
    throw new UsageError(
      `${SECRET_VARIABLE} must have at least ${MIN_SECRET_CHARS} characters: it hashes the keys in PostgreSQL.`,
      'Set it to the same value in all processes.',
    );
  }
  return openServiceStore({ postgres: { url: postgres }, secret });
}

/**
 * Ports of an engine for the workspaces of the API: which workflows may call each other, and the owners, environments,
 * credentials and skills of workflows.
 */
export type TenantPorts = Required<
  Pick<EngineOptions, 'resolveChild' | 'tenant' | 'environments' | 'tenantCredentials' | 'tenantSkills'>
>;

/**
 * Returns these ports on the service's store. A workspace's environment is its secrets. `env`, the values from the
 * command line, belongs to the oldest workspace and replaces secrets with the same names.
 */
export function tenantPortsOf(
  workerStore: Omit<WorkerStore, 'close' | 'database'>,
  env: { [name: string]: string },
): TenantPorts {
  let oldestWorkspaceId: string | undefined;
  const envOf = async (tenant: string): Promise<typeof env> => {
    oldestWorkspaceId ??= await workerStore.findOldestWorkspaceId();
    return tenant === oldestWorkspaceId ? env : {};
  };
  return {
    resolveChild: (caller, reference) => workerStore.resolveChild(caller, reference),
    tenant: (workflowId) => workerStore.tenant(workflowId),
    tenantCredentials: workerStore.credentials,
    tenantSkills: workerStore.skills,
    environments: {
      names: async (tenant) => [
        ...new Set([...(await workerStore.secrets.names(tenant)), ...Object.keys(await envOf(tenant))]),
      ],
      values: async (tenant, names) => {
        const ownEnv = await envOf(tenant);
        const secretNames = names.filter((name) => !Object.hasOwn(ownEnv, name));
        const secrets = secretNames.length === 0 ? {} : await workerStore.secrets.values(tenant, secretNames);
        const envEntries = Object.entries(ownEnv).filter(([name]) => names.includes(name));
        return Object.fromEntries([...Object.entries(secrets), ...envEntries]);
      },
    },
  };
}

/** Environment variable with the keys that seal secrets. */
const SEALING_KEYS_VARIABLE = 'HEDDLE_SECRET_KEYS';

/** The sealer of secrets, and its keys if they are in the data folder. */
export interface Sealing {
  sealer: Sealer;
  folderKeys: RotatableKeys | undefined;
}

/** Returns the sealer with the keys of the environment, else of the data folder. Throws usage errors. */
export async function sealingOf({ data, postgres }: StoreOptions): Promise<Sealing> {
  const {
    KeyFolder,
    parseKeys,
    missingKeys,
    Sealer: SealerClass,
    SealingError,
  } = await import('@heddle/service');
  const text = readEnv().value(SEALING_KEYS_VARIABLE);
  if (text !== undefined) {
    try {
      return { sealer: new SealerClass(parseKeys(text)), folderKeys: undefined };
    } catch (error) {
      if (error instanceof SealingError) throw new UsageError(`${SEALING_KEYS_VARIABLE}: ${error.message}`);
      throw error;
    }
  }
  if (postgres !== undefined) {
    const keys = missingKeys(
      `${SEALING_KEYS_VARIABLE} is not set: it must have the keys that seal secrets in PostgreSQL. Set it to the same value in all processes.`,
    );
    return { sealer: new SealerClass(keys), folderKeys: undefined };
  }
  const folderKeys = new KeyFolder(join(data, 'secret-keys'));
  return { sealer: new SealerClass(folderKeys), folderKeys };
}

/** The part of the service's store that workers need, opened on first use, and the images for blocks. */
export interface LazyWorkerStore extends Omit<WorkerStore, 'database'> {
  /** Returns the image source for blocks: in a workspace the images of its sandboxes, otherwise `images`. */
  sandboxImages(images: BlockImages): OwnedImages;
}

/** Returns the part of the service's store that workers need, opened on first use. `onError` gets background errors. */
export function lazyWorkerStore(
  options: StoreOptions & BlockOptions,
  onError: (error: unknown) => void,
): LazyWorkerStore {
  const { data, postgres } = options;
  const store = lazy(async () => {
    const { openWorkerStore } = await import('@heddle/service');
    const { sealer } = await sealingOf(options);
    const refreshOptions = await refreshOptionsOf(options, onError);
    const location = postgres === undefined ? { data } : { postgres: { url: postgres } };
    return openWorkerStore(location, sealer, refreshOptions);
  });
  let sandboxes: { close(): Promise<void> } | undefined;
  return {
    resolveChild: async (caller, reference) => (await store.get()).resolveChild(caller, reference),
    tenant: async (workflowId) => (await store.get()).tenant(workflowId),
    findOldestWorkspaceId: async () => (await store.get()).findOldestWorkspaceId(),
    secrets: {
      names: async (tenant) => (await store.get()).secrets.names(tenant),
      values: async (tenant, names) => (await store.get()).secrets.values(tenant, names),
    },
    credentials: {
      find: async (tenant, query) => (await store.get()).credentials.find(tenant, query),
    },
    skills: {
      find: async (tenant, references) => (await store.get()).skills.find(tenant, references),
      read: async (tenant, id) => (await store.get()).skills.read(tenant, id),
    },
    sandboxImages(images) {
      const lazySandboxes = lazy(async () => {
        const { openSandboxes } = await import('@heddle/service');
        // Another process may have accepted the sandbox: this one has not built its image yet.
        return openSandboxes({
          ...{ store: await store.get(), openImageStore: () => images.store() },
          ...{ onError, waitsForBuilds: true },
        });
      });
      sandboxes = lazySandboxes;
      return {
        open: async (id, tenant) =>
          tenant === undefined ? images.open(id) : (await lazySandboxes.get()).images.open(id, tenant),
        releaseUnused: async () => (await lazySandboxes.get()).releaseUnused(),
      };
    },
    // Called after the image store is closed, which stops the builds.
    async close() {
      await sandboxes?.close();
      await store.close();
    },
  };
}

/** Calls `use` with the store of the HTTP API, and closes it afterwards. */
export async function withServiceStore<T>(
  options: StoreOptions,
  use: (store: ServiceStore) => Promise<T>,
): Promise<T> {
  const store = await openStore(options);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
