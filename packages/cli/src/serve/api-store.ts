import type { ApiStore, WorkflowOwnership } from '@heddle/api';
import type { EngineOptions } from '@heddle/engine';
import { readEnv } from '../env.ts';
import { openedLater } from '../opened-later.ts';
import type { StoreOptions } from '../place.ts';
import { UsageError } from '../usage-error.ts';

/** What keys in PostgreSQL are hashed with. */
const SECRET = 'HEDDLE_API_SECRET';
const SHORTEST_SECRET = 32;

/** The records of the HTTP interface. Throws a usage error where the database's secret is missing. */
export async function openRecords({ data, postgres }: StoreOptions): Promise<ApiStore> {
  const secret = readEnv().value(SECRET);
  const { openApiStore } = await import('@heddle/api');
  if (postgres === undefined) return openApiStore({ data });
  if (secret === undefined || secret.length < SHORTEST_SECRET) {
    throw new UsageError(
      `In PostgreSQL keys are hashed with a secret of at least ${SHORTEST_SECRET} characters.`,
      `Set ${SECRET}, the same for all processes.`,
    );
  }
  return openApiStore({ postgres: { url: postgres }, secret });
}

/** What an engine has to know of the workspaces of the HTTP interface: which workflows may run which, whose they are, and their environments. */
export type Ownership = Required<Pick<EngineOptions, 'resolveChild' | 'tenant' | 'environments'>>;

/** Returns the ownership that the records say. The values of the command line, `env`, are those of the oldest workspace. */
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

/** The records of the HTTP interface that workers need, opened when one is first asked for. */
export function lazyWorkflowOwnership({ data, postgres }: StoreOptions): WorkflowOwnership {
  const records = openedLater(async () => {
    const { openWorkflowOwnership } = await import('@heddle/api');
    return openWorkflowOwnership(postgres === undefined ? { data } : { postgres: { url: postgres } });
  });
  return {
    resolveChild: async (caller, reference) => (await records.get()).resolveChild(caller, reference),
    tenant: async (workflowId) => (await records.get()).tenant(workflowId),
    oldestWorkspace: async () => (await records.get()).oldestWorkspace(),
    close: () => records.close(),
  };
}

/** Hands the records to `use`, and closes them whatever happens. */
export async function withRecords<T>(place: StoreOptions, use: (store: ApiStore) => Promise<T>): Promise<T> {
  const store = await openRecords(place);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
