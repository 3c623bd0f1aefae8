import { randomUUID } from 'node:crypto';
import { createEngine } from '@heddle/engine';
import type { EngineOptions } from '@heddle/engine';
import { beforeAll, describe, onTestFinished } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { describeExportedWorkflows } from './exported.ts';
import type { OpenEngine } from './exported.ts';

const openWith =
  (store: () => EngineOptions): OpenEngine =>
  async (options) => {
    const engine = await createEngine({ ...options, ...store() });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    return engine;
  };

describeExportedWorkflows(
  'in memory',
  openWith(() => ({})),
);

describeExportedWorkflows(
  'on SQLite',
  openWith(() => ({ data: dataFolder() })),
);

describe.skipIf(!hasPostgres)('with a database', () => {
  let url = '';
  beforeAll(async () => {
    url = await postgresDatabase();
  });

  describeExportedWorkflows(
    'on PostgreSQL',
    openWith(() => ({ postgres: { url, schema: randomUUID(), maxConnections: 3 } })),
  );
});
