import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { startPayingModel, startProcess } from './killable-process.ts';

describe.each(storesToTest('approvals with a kill'))(
  'an agent whose process is killed after a person approved a call, on %s',
  (store) => {
    it.each([
      ['makes the call if the kill precedes it', 'answered'],
      [
        'does not repeat the call if the kill interrupts it, and the model is told that its outcome is unknown',
        'paid',
      ],
    ])('%s', async (_description, stopPoint) => {
      const { folder, commonOptions, expectOnePayment } = await startPayingModel();
      const engine =
        store === 'sqlite'
          ? { data: join(folder, 'data') }
          : { postgres: { url: await createPostgresDatabase(), leaseMs: 3000 } };
      expect(await startProcess({ engine, ...commonOptions, stopPoint }, 'paying').lastLine).toBe(stopPoint);
      expect(existsSync(commonOptions.effectsFile)).toBe(stopPoint === 'paid');
      expectOnePayment(
        JSON.parse(await startProcess({ engine, ...commonOptions }, 'paying').lastLine),
        stopPoint === 'answered',
      );
    });
  },
);
