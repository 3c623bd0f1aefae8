import { randomUUID } from 'node:crypto';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { beforeAll, describe, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';

type OpenEngine = (options: EngineOptions) => Promise<Engine>;

const createEngineOpener =
  (createStoreOptions: () => EngineOptions): OpenEngine =>
  async (options) => {
    const engine = await createEngine({ ...options, ...createStoreOptions() });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    return engine;
  };

/** Defines tests on stores in memory, on SQLite and on PostgreSQL. Each engine has its own store. */
export function describeOnStores(describeTests: (environment: string, openEngine: OpenEngine) => void): void {
  describeTests(
    'in memory',
    createEngineOpener(() => ({})),
  );
  describeTests(
    'on SQLite',
    createEngineOpener(() => ({ data: createDataFolder() })),
  );
  describe.skipIf(!hasPostgres)('in a database', () => {
    let url = '';
    beforeAll(async () => {
      url = await createPostgresDatabase();
    });
    describeTests(
      'on PostgreSQL',
      createEngineOpener(() => ({ postgres: { url, schema: randomUUID(), maxConnections: 3 } })),
    );
  });
}
