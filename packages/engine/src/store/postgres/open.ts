import { EngineError } from '@heddle/core';
import { systemClock } from '../../clock.ts';
import type { LeasedStores } from '../leases.ts';
import { Database } from './database.ts';
import { PostgresDefinitionStore } from './definitions.ts';
import { PostgresLeaseStore } from './leases.ts';
import { migrate } from './migrations.ts';
import type { PostgresOptions } from '../open-postgres.ts';
import { PostgresRequestStore } from './requests.ts';
import { PostgresRunStore } from './runs.ts';
import { PostgresValueStore } from './values.ts';

const DEFAULT_SCHEMA = 'heddle';
const DEFAULT_CONNECTIONS = 10;
/** PostgreSQL cuts longer names. */
const LONGEST_NAME_BYTES = 63;

/** The stores in a PostgreSQL database, its schema brought to the newest format. */
export async function openDatabaseStores(options: PostgresOptions): Promise<LeasedStores> {
  const { url, schema = DEFAULT_SCHEMA, maxConnections = DEFAULT_CONNECTIONS } = options;
  if (schema === '' || schema.includes('\0') || Buffer.byteLength(schema) > LONGEST_NAME_BYTES) {
    throw new EngineError('OPTIONS_INVALID', `A schema has a name of 1 to ${LONGEST_NAME_BYTES} bytes.`);
  }
  if (!Number.isInteger(maxConnections) || maxConnections < 1) {
    throw new EngineError(
      'OPTIONS_INVALID',
      `maxConnections is a whole number from 1 on, not ${maxConnections}.`,
    );
  }
  const database = new Database({ url, schema, maxConnections });
  try {
    await migrate(database);
  } catch (error) {
    await database.close();
    throw error;
  }
  return {
    runs: new PostgresRunStore(database),
    definitions: new PostgresDefinitionStore(database),
    values: new PostgresValueStore(database),
    leases: new PostgresLeaseStore(database),
    requests: new PostgresRequestStore(database, systemClock),
    close: () => database.close(),
  };
}
