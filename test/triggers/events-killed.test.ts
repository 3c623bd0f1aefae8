import { describe, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { sampledSteps, pickByScale } from '../support/scale.ts';
import { expectOneRunPerEventWhenKilled } from './kill-steps.ts';

describe('event triggers', { timeout: pickByScale(300_000, 1_800_000) }, () => {
  const steps = sampledSteps(6, 'steps from the end of a run to the run that its event starts');

  it('start exactly one run if their process is killed at any step from the end of a run to the run that its event starts, on SQLite', async () => {
    const data = createDataFolder();
    await expectOneRunPerEventWhenKilled({ store: { data }, engine: { data } }, steps);
  });

  it.skipIf(!hasPostgres)(
    'start exactly one run if one of two processes that poll for events is killed, on PostgreSQL',
    async () => {
      const postgres = await createPostgresDatabase();
      const backend = { store: { postgres }, engine: { postgres: { url: postgres, leaseMs: 2000 } } };
      await expectOneRunPerEventWhenKilled(backend, { ...steps, stride: 2 * steps.stride }, 1);
    },
  );
});
