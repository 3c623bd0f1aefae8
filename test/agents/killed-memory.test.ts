import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { MEMORY_STOP_POINTS, startProcess, startConversationModel } from './killable-process.ts';

describe.each(storesToTest('memories with a kill'))(
  'an agent with a memory whose process is killed after the answer of the model, on %s',
  (store) => {
    it.each(MEMORY_STOP_POINTS)(
      'has the exchange once in its conversation (killed at %s, %s)',
      async (stopPoint, _when, callCount) => {
        const { folder, commonOptions, expectOneExchange } = await startConversationModel();
        const engine =
          store === 'sqlite'
            ? { data: join(folder, 'data') }
            : { postgres: { url: await createPostgresDatabase(), leaseMs: 3000 } };
        expect(await startProcess({ engine, ...commonOptions, question: 'one', stopPoint }).lastLine).toBe(
          stopPoint,
        );
        const output: unknown = JSON.parse(
          await startProcess({ engine, ...commonOptions, question: 'one' }).lastLine,
        );
        await startProcess({ engine, ...commonOptions, question: 'two' }).lastLine;
        expectOneExchange(output, callCount);
      },
    );
  },
);
