import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { start } from './process.ts';

it('the stores load the PostgreSQL client only when a database is opened', async () => {
  const program = fileURLToPath(new URL('loading.ts', import.meta.url));
  const { waitForLines } = start(process.execPath, ['--conditions=@heddle/source', program]);
  expect(await waitForLines(2)).toEqual([[], ['kysely', 'pg']]);
});
