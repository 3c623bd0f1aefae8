import type { LeasedStores } from './leases.ts';
import type { SharedStores } from './stores.ts';

export interface PostgresOptions {
  /** `postgresql://user:password@host:5432/database`; what is left out is taken from the variables of PostgreSQL (`PGPASSWORD`, …). */
  url: string;
  /** Where the tables are; created when it is not there. Default `heddle`. */
  schema?: string | undefined;
  /** Connections at once at most. Default 10. */
  maxConnections?: number | undefined;
}

/**
 * The stores in a PostgreSQL database, for any number of processes at once; the first one makes the tables.
 *
 * DATA_UNREACHABLE when the database cannot be reached or refuses us, DATA_UNWRITABLE when it takes no writes of ours,
 * DATA_FORMAT_UNSUPPORTED for a schema of a newer version, OPTIONS_INVALID for a URL that is none.
 */
export async function openPostgres(options: PostgresOptions): Promise<SharedStores> {
  return openLeased(options);
}

/** `openPostgres` for processes that hold runs. */
export async function openLeased(options: PostgresOptions): Promise<LeasedStores> {
  // Whoever keeps data in a folder does not load the client.
  const { openDatabaseStores } = await import('./postgres/open.ts');
  return openDatabaseStores(options);
}
