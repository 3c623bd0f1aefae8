import type { ApiStore, Belongings } from '@heddle/api';
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

/** Which workflows of the HTTP interface may run which, and whose they are; its records are opened when that is first asked. */
export function lazyBelongings({ data, postgres }: StoreOptions): Belongings {
  const records = openedLater(async () => {
    const { openBelongings } = await import('@heddle/api');
    return openBelongings(postgres === undefined ? { data } : { postgres: { url: postgres } });
  });
  return {
    callee: async (caller, reference) => (await records.get()).callee(caller, reference),
    tenant: async (workflowId) => (await records.get()).tenant(workflowId),
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
