import { join } from 'node:path';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { openFolderClient, openPostgresReader } from '@heddle/engine/reader';
import { onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';

export type StoreOptions = Pick<EngineOptions, 'data' | 'postgres'>;

/** Functions that create an empty store and return the options of an engine on it, by the name of the store. */
export const STORE_OPTION_FACTORIES: { [name: string]: () => Promise<StoreOptions> | StoreOptions } = {
  memory: () => ({}),
  'a data folder': () => ({ data: join(createDataFolder(), 'data') }),
  ...(hasPostgres && {
    PostgreSQL: async () => ({ postgres: { url: await createPostgresDatabase(), leaseMs: 5000 } }),
  }),
};

/** Opens an engine, which is closed after the test. */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const engine = await createEngine({ sandbox: { maxProcesses: 1 }, ...options });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine;
}

/** Opens a reader as another process would. */
export async function openReader({ data, postgres }: StoreOptions) {
  const reader =
    data === undefined ? await openPostgresReader(postgres ?? { url: '' }) : openFolderClient(data);
  onTestFinished(() => reader.close());
  return reader;
}
