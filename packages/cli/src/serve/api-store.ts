import type { ApiStore, WorkflowOwnership } from '@heddle/api';
import type { EngineOptions } from '@heddle/engine';
import { readEnv } from '../env.ts';
import { lazy } from '../lazy.ts';
import type { StoreOptions } from '../store-options.ts';
import { UsageError } from '../usage-error.ts';

/** Variable with the secret that hashes keys in PostgreSQL. */
const SECRET = 'HEDDLE_API_SECRET';
const MIN_SECRET_CHARS = 32;

/** Opens the store of the HTTP API. Throws a usage error if a database has no secret. */
export async function openStore({ data, postgres }: StoreOptions): Promise<ApiStore> {
  const secret = readEnv().value(SECRET);
  const { openServiceStore } = await import('@heddle/service');
  if (postgres === undefined) return openServiceStore({ data });
  if (secret === undefined || secret.length < MIN_SECRET_CHARS) {
    throw new UsageError(
      `${SECRET} must have at least ${MIN_SECRET_CHARS} characters: it hashes the keys in PostgreSQL.`,
      'Set it to the same value in all processes.',
    );
  }
  return openServiceStore({ postgres: { url: postgres }, secret });
}

/** Options of an engine about the API's workspaces: which workflows may call which, their owners, and their environments. */
export type Ownership = Required<Pick<EngineOptions, 'resolveChild' | 'tenant' | 'environments'>>;

/** Ownership from the API's store. `env`, the values of the command line, belongs to the oldest workspace. */
export function ownershipOf(
  records: Pick<WorkflowOwnership, 'resolveChild' | 'tenant' | 'oldestWorkspace'>,
  env: { [name: string]: string },
): Ownership {
  let oldest: string | undefined;
  const envOf = async (tenant: string): Promise<typeof env> => {
    oldest ??= await records.oldestWorkspace();
    return tenant === oldest ? env : {};
  };
  return {
    resolveChild: (caller, reference) => records.resolveChild(caller, reference),
    tenant: (workflowId) => records.tenant(workflowId),
    environments: { names: async (tenant) => Object.keys(await envOf(tenant)), values: envOf },
  };
}

/** The part of the API's store that workers need, opened on first use. */
export function lazyWorkflowOwnership({ data, postgres }: StoreOptions): WorkflowOwnership {
  const records = lazy(async () => {
    const { openServiceOwnership } = await import('@heddle/service');
    return openServiceOwnership(postgres === undefined ? { data } : { postgres: { url: postgres } });
  });
  return {
    resolveChild: async (caller, reference) => (await records.get()).resolveChild(caller, reference),
    tenant: async (workflowId) => (await records.get()).tenant(workflowId),
    oldestWorkspace: async () => (await records.get()).oldestWorkspace(),
    close: () => records.close(),
  };
}

/** Calls `use` with the store of the HTTP API, and closes it afterwards. */
export async function withApiStore<T>(
  options: StoreOptions,
  use: (store: ApiStore) => Promise<T>,
): Promise<T> {
  const store = await openStore(options);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
