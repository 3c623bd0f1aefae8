import { EngineError } from '@heddle/core';
import { systemClock } from '../../clock.ts';
import type { LeasedStores } from '../leases.ts';
import { PostgresConversations } from './conversations.ts';
import { Database } from './database.ts';
import { PostgresDefinitionStore } from './definitions.ts';
import { PostgresLeaseStore } from './leases.ts';
import { PostgresLiveEvents } from './live-events.ts';
import { migrate } from './migrations.ts';
import { PostgresRates } from './rates.ts';
import { PostgresSpending } from './spending.ts';
import { PostgresRunChanges } from './run-changes.ts';
import { PostgresRequestStore } from './requests.ts';
import { PostgresRunStore } from './runs.ts';
import { PostgresValueStore } from './values.ts';

const DEFAULT_SCHEMA = 'heddle';
const DEFAULT_MAX_CONNECTIONS = 10;
/** PostgreSQL truncates longer names. */
const MAX_NAME_BYTES = 63;

export interface PostgresOptions {
  /**
   * `postgresql://user:password@host:5432/database`; missing parts come from the environment variables of PostgreSQL
   * (`PGPASSWORD`, …).
   */
  url: string;
  /** The schema of the tables, created if it is missing. Default `heddle`. */
  schema?: string | undefined;
  /** Maximum number of connections in the pool. Default 10. One further connection listens for events. */
  maxConnections?: number | undefined;
}

/** Returns the stores in a PostgreSQL database. Migrates the schema to the newest format. */
export async function openDatabaseStores(options: PostgresOptions): Promise<LeasedStores> {
  const { url, schema = DEFAULT_SCHEMA, maxConnections = DEFAULT_MAX_CONNECTIONS } = options;
  if (schema === '' || schema.includes('\0') || Buffer.byteLength(schema) > MAX_NAME_BYTES) {
    throw new EngineError('OPTIONS_INVALID', `The name of a schema has 1 to ${MAX_NAME_BYTES} bytes.`);
  }
  if (!Number.isInteger(maxConnections) || maxConnections < 1) {
    throw new EngineError(
      'OPTIONS_INVALID',
      `maxConnections must be a whole number of at least 1, not ${maxConnections}.`,
    );
  }
  const database = new Database({ url, schema, maxConnections });
  try {
    await migrate(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  const liveEvents = new PostgresLiveEvents(database);
  return {
    runs: new PostgresRunStore(database),
    definitions: new PostgresDefinitionStore(database),
    values: new PostgresValueStore(database),
    leases: new PostgresLeaseStore(database),
    changes: new PostgresRunChanges(database),
    conversations: new PostgresConversations(database),
    liveEvents,
    spending: new PostgresSpending(database),
    rates: new PostgresRates(database),
    requests: new PostgresRequestStore(database, systemClock),
    close: async () => {
      await liveEvents.close();
      await database.close();
    },
  };
}
