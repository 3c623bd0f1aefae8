import type { LeasedStores } from './leases.ts';
import type { PostgresOptions } from './postgres/open.ts';
import type { SharedStores } from './stores.ts';

/**
 * Returns the stores in a PostgreSQL database, for any number of processes at the same time. Creates the tables if they
 * are missing.
 *
 * Throws DATA_UNREACHABLE if the database cannot be reached or refuses the connection, DATA_UNWRITABLE if it accepts no
 * writes, DATA_FORMAT_UNSUPPORTED for a schema of a newer version, OPTIONS_INVALID for an invalid option.
 */
export async function openPostgres(options: PostgresOptions): Promise<SharedStores> {
  return openLeasedStores(options);
}

/** Returns the stores of `openPostgres` with leases, for processes that execute runs. */
export async function openLeasedStores(options: PostgresOptions): Promise<LeasedStores> {
  // Loaded here, so that processes that use a data folder do not load the PostgreSQL client.
  const { openDatabaseStores } = await import('./postgres/open.ts');
  return openDatabaseStores(options);
}
