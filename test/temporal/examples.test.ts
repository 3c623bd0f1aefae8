import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { describeTemporal } from '../support/temporal.ts';

const PROGRAM = fileURLToPath(new URL('../../examples/two-workers/two-workers.ts', import.meta.url));

describeTemporal('the example with two workers', ({ address, namespace }) => {
  it('completes a run after one worker is killed with SIGKILL', { timeout: 120_000 }, async () => {
    const serverArgs = ['--address', address, '--namespace', namespace, '--queue', `weavers-${randomUUID()}`];
    const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, ...serverArgs], {
      cwd: createDataFolder(),
    });
    expect(stdout).toMatch(/^one: killed after it wove red, green/m);
    expect(stdout).toMatch(/^two: finished the run: red, green, blue, white, black, gold$/m);
    expect(stdout).toMatch(/^No row was woven twice\.$/m);
  });
});
