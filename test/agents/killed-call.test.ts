import { join } from 'node:path';
import { openPostgres, openStores } from '@heddle/engine/stores';
import type { SharedStores } from '@heddle/engine/stores';
import { describe, expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { drawnStores, postgresDatabase } from '../support/postgres.ts';
import { play } from './killed.ts';
import type { Played } from './killed.ts';
import { modelServer } from './metered.ts';

/** Longer than a reservation lasts without its process. */
const LATER_MS = 3_600_000;
/** Returns the counted cost of the run, in millionths of a dollar. An empty reservation makes old reservations expire. */
async function spent({ spending }: SharedStores, nowMs: number): Promise<number> {
  const account = { id: 'run:agent-run', cap: 1e9, untilMs: nowMs + LATER_MS };
  const expiresMs = nowMs + LATER_MS;
  await spending.reserve({ id: `at ${nowMs}`, accounts: [account], most: 0, least: 0, nowMs, expiresMs });
  return spending.sum(account.id);
}

describe.each(drawnStores('calls of a model with a kill'))(
  'a process that is killed in a call of a model under a cap, on %s',
  (store) => {
    it('leaves a reservation, which another process settles exactly once', async () => {
      const folder = dataFolder();
      const place =
        store === 'sqlite'
          ? { data: join(folder, 'data') }
          : { postgres: { url: await postgresDatabase(), leaseMs: 1000 } };
      const played: { first?: Played } = {};
      const server = await modelServer(({ body, number }) => {
        const done = (body['messages'] as { role: string }[]).filter(({ role }) => role === 'tool').length;
        if (number === 3) played.first?.kill();
        if (number === 3) return { after: new Promise(() => undefined) };
        const used = { input: 100, output: 10 };
        return done === 4
          ? { text: 'Done.', ...used }
          : { tools: [{ name: 'count', args: { n: done + 1 } }], ...used };
      });
      const options = {
        engine: { ...place, maxCost: { run: 1 } },
        models: { prices: { 'local/scripted': { input: 1, output: 2 } } },
        url: server.services.local,
        effects: join(folder, 'effects'),
      };
      played.first = play(options);
      expect(await played.first.last).toBe('2');
      const output = JSON.parse(await play(options).last) as object;
      expect(output).toMatchObject({ content: 'Done.', cost: { totalMicros: 600 } });
      expect(server.requests).toHaveLength(6);

      const stores = place.data === undefined ? await openPostgres(place.postgres) : openStores(place);
      try {
        // Five answers cost 120 each. The maximum cost of the killed call counts until its reservation expires, then the cost of
        // its input.
        const nowMs = Date.now();
        expect(await spent(stores, nowMs)).toBeGreaterThan(600 + 128_000);
        const later = await spent(stores, nowMs + LATER_MS);
        expect(later).toBeGreaterThan(600 + 50);
        expect(later).toBeLessThan(600 + 1000);
      } finally {
        await stores.close();
      }
    });
  },
);
