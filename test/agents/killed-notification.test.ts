import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { expectOneNotification, startProcess } from './killable-process.ts';

describe.each(storesToTest('notifications with a kill'))('a pause for a person, on %s', (store) => {
  it('keeps the sent URL and sends no second notification after its process is killed', async () => {
    const folder = createDataFolder();
    const engine =
      store === 'sqlite'
        ? { data: join(folder, 'data') }
        : { postgres: { url: await createPostgresDatabase(), leaseMs: 3000 } };
    const options = { engine, url: '', effectsFile: join(folder, 'effects') };
    expect(await startProcess({ ...options, stopPoint: 'notified' }, 'notifying').lastLine).toBe('');
    expect(existsSync(options.effectsFile)).toBe(true);
    expectOneNotification(JSON.parse(await startProcess(options, 'notifying').lastLine), options.effectsFile);
  });
});
