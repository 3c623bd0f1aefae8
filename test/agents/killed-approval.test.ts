import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { postgresDatabase, storesToTest } from '../support/postgres.ts';
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
    ])('%s', async (_what, stop) => {
      const { folder, common, expectOnePayment } = await startPayingModel();
      const engine =
        store === 'sqlite'
          ? { data: join(folder, 'data') }
          : { postgres: { url: await postgresDatabase(), leaseMs: 3000 } };
      expect(await startProcess({ engine, ...common, stop }, 'paying').lastLine).toBe(stop);
      expect(existsSync(common.effectsFile)).toBe(stop === 'paid');
      expectOnePayment(
        JSON.parse(await startProcess({ engine, ...common }, 'paying').lastLine),
        stop === 'answered',
      );
    });
  },
);
