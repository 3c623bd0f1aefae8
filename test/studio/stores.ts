import { describe } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { sample } from '../support/scale.ts';
import { chromiumTool } from '../support/browser.ts';
import type { GetServeArgs } from './setup.ts';

/** Options of `heddle serve` for each store. test/temporal/studio.test.ts runs the same tests on Temporal. */
const STORES: readonly (readonly [name: string, getServeArgs: GetServeArgs])[] = [
  ['SQLite', (registerCleanup) => Promise.resolve(['--data', createDataFolder(registerCleanup)])],
  ...(hasPostgres
    ? [['PostgreSQL', async () => ['--postgres', await createPostgresDatabase()]] as const]
    : []),
];

/** Calls `defineTests` for each store; in a quick run, for one random store. */
export function describeStores(name: string, defineTests: (getServeArgs: GetServeArgs) => void): void {
  for (const [storeName, getServeArgs] of sample(STORES, 1, `stores of ${name}`))
    describe.skipIf(!chromiumTool)(`${name}, on ${storeName}`, () => {
      defineTests(getServeArgs);
    });
}
