import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { counting, play } from './killed.ts';

const STORES = ['SQLite', ...(hasPostgres ? ['PostgreSQL'] : [])];

describe.each(STORES)('an agent that is killed in its fourth call of a tool, on %s', (store) => {
  it('repeats that call, and no other call of a tool or model', async () => {
    const { folder, common, calls, expectOneRepeated } = await counting();
    const engine =
      store === 'SQLite'
        ? { data: join(folder, 'data') }
        : { postgres: { url: await postgresDatabase(), leaseMs: 1000 } };
    expect(await play({ engine, ...common, stop: '4' }).last).toBe('4');
    expect(calls()).toBe(4);
    expectOneRepeated(JSON.parse(await play({ engine, ...common }).last));
  });
});
