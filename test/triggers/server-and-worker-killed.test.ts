import { describe, it } from 'vitest';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { pickByScale } from '../support/scale.ts';
import { expectOneRunPerEventWhenKilledInTurn } from './server-and-worker-steps.ts';

describe.skipIf(!hasPostgres)('a server and a worker with triggers, killed in turn,', () => {
  it('start exactly one run for each event, on PostgreSQL', { timeout: 900_000 }, async () => {
    const postgres = await createPostgresDatabase();
    const backend = { store: { postgres }, engine: { postgres: { url: postgres, leaseMs: 2000 } } };
    await expectOneRunPerEventWhenKilledInTurn(backend, pickByScale(4, 20));
  });
});
