import { describe } from 'vitest';
import { hasPostgres } from '../support/postgres.ts';
import { postgresStore } from './stores.ts';
import { describeService } from './suite.ts';

describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  describeService('records in PostgreSQL', postgresStore());
});
