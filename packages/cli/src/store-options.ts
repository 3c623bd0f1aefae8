import { existsSync } from 'node:fs';
import type { FolderClient, RunReader } from '@heddle/engine/reader';
import { UsageError } from './usage-error.ts';

/** The store that records runs: a data folder or a PostgreSQL database. */
export interface StoreOptions {
  data: string;
  /** URL of the database. It may contain a password: never print it. */
  postgres?: string;
}

/** The runtime that executes runs, and the store that records them. */
export interface RuntimeOptions extends StoreOptions {
  runtime?: 'local' | 'temporal';
  /** `host:port` of the Temporal server. */
  address?: string;
  namespace?: string;
  queue?: string;
  checkpoint?: 'segment' | 'block';
  /** False: only workers in other processes execute runs. */
  worker?: boolean;
}

/** True if runs execute on Temporal. Throws a usage error for Temporal's options without `--runtime temporal`. */
export function isOnTemporal(options: RuntimeOptions): boolean {
  if (options.runtime === 'temporal') return true;
  const { address, namespace, queue, checkpoint, worker } = options;
  const temporalOptions = {
    address,
    namespace,
    queue,
    checkpoint,
    'no-worker': worker === false ? '' : undefined,
  };
  const [unexpectedOption] = Object.entries(temporalOptions).filter(([, value]) => value !== undefined);
  if (unexpectedOption)
    throw new UsageError(`--${unexpectedOption[0]} is for runs on Temporal.`, 'Add --runtime temporal.');
  return false;
}

/** The default data folder. */
export const DEFAULT_DATA_FOLDER = './.heddle';

/**
 * Throws a usage error if the data folder does not exist. A misspelled name must not look like a folder without runs.
 */
export function requireDataFolder({ data, postgres }: StoreOptions): void {
  if (postgres !== undefined || existsSync(data)) return;
  throw new UsageError(
    `There is no data folder ${data}.`,
    'heddle run and heddle serve create it. Use --data for another folder.',
  );
}

/** Calls `use` with a reader of recorded runs, and closes the reader afterwards. */
export async function withReader<T>(
  { data, postgres }: StoreOptions,
  use: (reader: RunReader) => Promise<T>,
): Promise<T> {
  // Without --data, a missing folder means that there are no runs.
  if (data !== DEFAULT_DATA_FOLDER) requireDataFolder({ data, ...(postgres !== undefined && { postgres }) });
  const { openFolderClient, openPostgresReader } = await import('@heddle/engine/reader');
  const reader =
    postgres === undefined ? openFolderClient(data) : await openPostgresReader({ url: postgres });
  try {
    return await use(reader);
  } finally {
    await reader.close();
  }
}

/** Calls `use` with a client of the data folder, and closes the client afterwards. */
export async function withFolderClient<T>(
  data: string,
  use: (client: FolderClient) => Promise<T>,
): Promise<T> {
  const { openFolderClient } = await import('@heddle/engine/reader');
  const client = openFolderClient(data);
  try {
    return await use(client);
  } finally {
    client.close();
  }
}

/** Returns the store option of the Temporal runtime. */
export function temporalStoreOption({
  data,
  postgres,
}: StoreOptions): { data: string } | { postgres: string } {
  return postgres === undefined ? { data } : { postgres };
}

/** Returns the name of the store, for messages. */
export function storeName({ data, postgres }: StoreOptions): string {
  return postgres === undefined ? data : 'the database';
}
