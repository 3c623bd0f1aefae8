import { describe, expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { keyboardJourney } from './journey.ts';
import { chromiumTool, studio } from './setup.ts';
import type { ServeArgs } from './setup.ts';

const STORES: readonly [name: string, store: ServeArgs][] = [
  ['SQLite', (whenDone) => Promise.resolve(['--data', dataFolder(whenDone)])],
  ...(hasPostgres
    ? [['PostgreSQL', async () => ['--postgres', await postgresDatabase()]] as [string, ServeArgs]]
    : []),
];

describe.skipIf(!chromiumTool).each(STORES)('the Studio without a mouse, on %s', (_name, store) => {
  const world = studio({ store });

  it(
    'signs in, filters, walks the blocks of a run, answers a pause and cancels a run',
    { timeout: 90_000 },
    async () => {
      expect(await keyboardJourney(world)).toBe('Cancelled');
    },
  );
});
