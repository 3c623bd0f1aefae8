import { randomUUID } from 'node:crypto';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { beforeAll, describe, onTestFinished } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';

type OpenEngine = (options: EngineOptions) => Promise<Engine>;

const openWith =
  (store: () => EngineOptions): OpenEngine =>
  async (options) => {
    const engine = await createEngine({ ...options, ...store() });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    return engine;
  };

/** Defines tests on stores in memory, on SQLite and on PostgreSQL. Each engine has its own store. */
export function describeOnStores(describeTests: (where: string, openEngine: OpenEngine) => void): void {
  describeTests(
    'in memory',
    openWith(() => ({})),
  );
  describeTests(
    'on SQLite',
    openWith(() => ({ data: dataFolder() })),
  );
  describe.skipIf(!hasPostgres)('in a database', () => {
    let url = '';
    beforeAll(async () => {
      url = await postgresDatabase();
    });
    describeTests(
      'on PostgreSQL',
      openWith(() => ({ postgres: { url, schema: randomUUID(), maxConnections: 3 } })),
    );
  });
}
