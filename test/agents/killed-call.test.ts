import { join } from 'node:path';
import { openPostgres, openStores } from '@heddle/engine/stores';
import type { SharedStores } from '@heddle/engine/stores';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { startProcess } from './killable-process.ts';
import type { KillableProcess } from './killable-process.ts';
import { startModel } from './metered-agents.ts';

/** Longer than a reservation lives without its process. */
const EXPIRY_WAIT_MS = 3_600_000;

/**
 * Returns the counted cost of the run, in millionths of a dollar. First adds an empty reservation, because reservations
 * expire when another one is made.
 */
async function readCountedCost({ spending }: SharedStores, nowMs: number): Promise<number> {
  const account = { id: 'run:agent-run', capMicros: 1e9, retainUntilMs: nowMs + EXPIRY_WAIT_MS };
  const expiresMs = nowMs + EXPIRY_WAIT_MS;
  await spending.reserve({
    id: `at ${nowMs}`,
    accounts: [account],
    maxMicros: 0,
    expiredMicros: 0,
    nowMs,
    expiresMs,
  });
  return spending.totalOf(account.id);
}

describe.each(storesToTest('model calls with a kill'))(
  'a process that is killed in a model call under a spending cap, on %s',
  (store) => {
    it('leaves a reservation, which another process settles exactly once', async () => {
      const folder = createDataFolder();
      const storeOptions =
        store === 'sqlite'
          ? { data: join(folder, 'data') }
          : { postgres: { url: await createPostgresDatabase(), leaseMs: 3000 } };
      const processes: { first?: KillableProcess } = {};
      const server = await startModel(({ body, number }) => {
        const messages = body['messages'] as { role: string }[];
        const resultCount = messages.filter(({ role }) => role === 'tool').length;
        if (number === 3) processes.first?.kill();
        if (number === 3) return { sendAfter: new Promise(() => undefined) };
        const tokens = { inputTokens: 100, outputTokens: 10 };
        return resultCount === 4
          ? { text: 'Done.', ...tokens }
          : { toolCalls: [{ name: 'count', args: { n: resultCount + 1 } }], ...tokens };
      });
      const options = {
        engine: { ...storeOptions, maxCost: { run: 1 } },
        models: { prices: { 'local/scripted': { input: 1, output: 2 } } },
        url: server.services.local,
        effectsFile: join(folder, 'effects'),
      };
      processes.first = startProcess(options);
      expect(await processes.first.lastLine).toBe('2');
      const output = JSON.parse(await startProcess(options).lastLine) as object;
      expect(output).toMatchObject({ content: 'Done.', cost: { totalMicros: 600 } });
      expect(server.requests).toHaveLength(6);

      const stores =
        storeOptions.data === undefined
          ? await openPostgres(storeOptions.postgres)
          : openStores(storeOptions);
      try {
        // Five answers cost 120 each. The killed call counts with its maximum cost until its reservation expires, and
        // then with the cost of its input.
        const nowMs = Date.now();
        expect(await readCountedCost(stores, nowMs)).toBeGreaterThan(600 + 128_000);
        const laterCost = await readCountedCost(stores, nowMs + EXPIRY_WAIT_MS);
        expect(laterCost).toBeGreaterThan(600 + 50);
        expect(laterCost).toBeLessThan(600 + 1000);
      } finally {
        await stores.close();
      }
    });
  },
);
