import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { openFolderClient } from '@heddle/engine/reader';
import { afterAll, describe, onTestFinished } from 'vitest';
import { createEngineOn } from '../../packages/engine/src/create.ts';
import { CodeService } from '../../packages/engine/src/execution/code-service.ts';
import { builtInExecutors } from '../../packages/engine/src/executors/built-ins.ts';
import { createRegistry } from '../../packages/engine/src/executors/registry.ts';
import { openStores } from '../../packages/engine/src/store/open.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { describeRuntime } from './runtime.ts';
import { describeMemories } from './runtime/memories.ts';
import type { RuntimeUnderTest, RegisterCleanup } from './runtime/runtime-under-test.ts';

/** The sandbox of all engines without sandbox options. Starting one per engine would take longer than most tests. */
const codeService = new CodeService({ maxProcesses: 2, python: { maxProcesses: 1 } });
afterAll(() => codeService.close());

/** Opens an engine like `createEngine`, with the shared sandbox if the options allow it. */
function openEngine(options: EngineOptions): Promise<Engine> {
  const { data, durability, clock, blocks, sandbox, images, egress } = options;
  if (sandbox || images || egress) return createEngine(options);
  return createEngineOn(
    openStores({ data, durability, clock }),
    createRegistry(builtInExecutors, blocks),
    options,
    codeService,
  );
}

function localRuntime(
  data: string | undefined,
  registerCleanup: RegisterCleanup = onTestFinished,
): RuntimeUnderTest {
  const engines: Engine[] = [];
  registerCleanup(async () => {
    for (const engine of engines) await engine.close({ graceMs: 0 });
  });
  return {
    open: async (options = {}) => {
      const engine = await openEngine({ ...options, ...(data !== undefined && { data }) });
      engines.push(engine);
      return engine;
    },
    ...(data !== undefined && {
      requestCancel: async (runId: string) => {
        const client = openFolderClient(data);
        await client.request({ runId, kind: 'cancel', payload: {} }, 0);
        client.close();
      },
    }),
  };
}

describeRuntime('local, in memory', (registerCleanup) => localRuntime(undefined, registerCleanup), {
  durable: false,
});
describeRuntime(
  'local, on SQLite',
  (registerCleanup) => localRuntime(createDataFolder(registerCleanup), registerCleanup),
  {
    durable: true,
    // The tests in memory run all groups.
    share: 1 / 12,
    restartShare: 1 / 4,
  },
);

describe('local, on SQLite', () => {
  describeMemories((registerCleanup) => localRuntime(createDataFolder(registerCleanup), registerCleanup));
});
