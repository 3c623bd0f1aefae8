import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { postgresDatabase, storesToTest } from '../support/postgres.ts';
import { MEMORY_POINTS, startProcess, startRememberingModel } from './killable-process.ts';

describe.each(storesToTest('memories with a kill'))(
  'an agent with a memory whose process is killed after the answer of the model, on %s',
  (store) => {
    it.each(MEMORY_POINTS)(
      'has the exchange once in its conversation (killed at %s, %s)',
      async (stop, _when, callCount) => {
        const { folder, common, expectOneExchange } = await startRememberingModel();
        const engine =
          store === 'sqlite'
            ? { data: join(folder, 'data') }
            : { postgres: { url: await postgresDatabase(), leaseMs: 3000 } };
        expect(await startProcess({ engine, ...common, question: 'one', stop }).lastLine).toBe(stop);
        const output: unknown = JSON.parse(
          await startProcess({ engine, ...common, question: 'one' }).lastLine,
        );
        await startProcess({ engine, ...common, question: 'two' }).lastLine;
        expectOneExchange(output, callCount);
      },
    );
  },
);
