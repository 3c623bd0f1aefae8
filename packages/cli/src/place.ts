import { existsSync } from 'node:fs';
import type { RunReader } from '@heddle/engine/reader';
import { UsageError } from './usage-error.ts';

/** Where runs are recorded: a data folder, or a PostgreSQL database in its place. */
export interface StoreOptions {
  data: string;
  /** URL of the database. It may hold a password: never shown. */
  postgres?: string;
}

/** Where runs run, and where they are recorded. */
export interface PlaceOptions extends StoreOptions {
  runtime?: 'local' | 'temporal';
  /** `host:port` of the Temporal server. */
  address?: string;
  namespace?: string;
  queue?: string;
  checkpoint?: 'segment' | 'block';
  /** False: other processes run the runs. */
  worker?: boolean;
}

/** True when the options say that runs run on Temporal. Throws a usage error for options that mean nothing elsewhere. */
export function isOnTemporal(options: PlaceOptions): boolean {
  if (options.runtime === 'temporal') return true;
  const { address, namespace, queue, checkpoint, worker } = options;
  const given = {
    address,
    namespace,
    queue,
    checkpoint,
    'no-worker': worker === false ? '' : undefined,
  };
  const [stranger] = Object.entries(given).filter(([, value]) => value !== undefined);
  if (stranger) throw new UsageError(`--${stranger[0]} is for runs on Temporal.`, 'Add --runtime temporal.');
  return false;
}

/** The folder that commands use when none is named. */
export const DEFAULT_DATA = './.heddle';

/** Throws a usage error where the data folder is missing: a misspelt name must not look like a folder without runs. */
export function expectData({ data, postgres }: StoreOptions): void {
  if (postgres !== undefined || existsSync(data)) return;
  throw new UsageError(
    `There is no data folder ${data}.`,
    'heddle run and heddle serve make one; another one is named by --data.',
  );
}

/** Hands a reader of recorded runs to `use`, and closes it whatever happens. */
export async function withReader<T>(
  { data, postgres }: StoreOptions,
  use: (reader: RunReader) => Promise<T>,
): Promise<T> {
  // Where no folder was named, a place without one is a place without runs.
  if (data !== DEFAULT_DATA) expectData({ data, ...(postgres !== undefined && { postgres }) });
  const { openFolderClient, openPostgresReader } = await import('@heddle/engine/reader');
  const reader =
    postgres === undefined ? openFolderClient(data) : await openPostgresReader({ url: postgres });
  try {
    return await use(reader);
  } finally {
    await reader.close();
  }
}

/** Where runs on Temporal are recorded, as the runtime takes it. */
export function storesOf({ data, postgres }: StoreOptions): { data: string } | { postgres: string } {
  return postgres === undefined ? { data } : { postgres };
}

/** The place of the runs, in words for people. */
export function storeName({ data, postgres }: StoreOptions): string {
  return postgres === undefined ? data : 'the database';
}
