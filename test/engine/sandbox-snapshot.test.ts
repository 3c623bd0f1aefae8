import { createRegistry } from '../../packages/engine/src/executors/registry.ts';
import { createRuntimeDependencies } from '../../packages/engine/src/assemble.ts';
import { openStores } from '../../packages/engine/src/store/open.ts';
import { HostSnapshot } from '../../packages/sandbox/src/host-snapshot.ts';
import { join } from 'node:path';
import type { EngineOptions } from '@heddle/engine';
import { temporal } from '@heddle/temporal';
import { expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { valueIn } from '../support/outcome.ts';
import { UNCONFINED } from '../support/unconfined.ts';

/** Returns Python's hash of a string in an engine with these options. It identifies the interpreter's hash seed. */
async function pythonHashIn(options: EngineOptions): Promise<unknown> {
  const { codeService } = createRuntimeDependencies(openStores(), createRegistry([], []), options);
  onTestFinished(() => codeService.close());
  const sandbox = await codeService.limitedSandbox((work) => work(), undefined);
  return valueIn(await sandbox.run({ runId: 'r', language: 'python', code: 'return hash("a text")' }));
}

it(
  'the interpreters of an engine start from the snapshot in its data folder, on every runtime',
  { timeout: 60_000 },
  async () => {
    const dataFolder = createDataFolder(onTestFinished);
    const snapshot = new HostSnapshot({
      execPath: process.execPath,
      getConfinement: () => UNCONFINED,
      memoryMiB: 256,
      folder: join(dataFolder, 'sandbox'),
    });
    expect(snapshot.path).toBeUndefined();
    await snapshot.make();
    await snapshot.close();
    const hash = await pythonHashIn({ data: dataFolder });
    expect(await pythonHashIn({ runtime: temporal({ data: dataFolder }) })).toBe(hash);
    expect(await pythonHashIn({})).not.toBe(hash);
  },
);
