import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { startProgram } from './process.ts';

it('the stores load the PostgreSQL client only when a database is opened', async () => {
  const program = fileURLToPath(new URL('loading.ts', import.meta.url));
  const { waitForLines } = startProgram(process.execPath, ['--conditions=@heddle/source', program]);
  expect(await waitForLines(2)).toEqual([[], ['kysely', 'pg']]);
});
