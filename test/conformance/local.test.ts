import { createEngine } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { openFolderClient } from '@heddle/engine/reader';
import { onTestFinished } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { describeRuntime } from './runtime.ts';
import type { RuntimeUnderTest, WhenDone } from './runtime/suite.ts';

function local(data: string | undefined, whenDone: WhenDone = onTestFinished): RuntimeUnderTest {
  const engines: Engine[] = [];
  whenDone(async () => {
    for (const engine of engines) await engine.close({ graceMs: 0 });
  });
  return {
    open: async (options = {}) => {
      const engine = await createEngine({ ...options, ...(data !== undefined && { data }) });
      engines.push(engine);
      return engine;
    },
    ...(data !== undefined && {
      askForCancel: async (runId: string) => {
        const client = openFolderClient(data);
        await client.request({ runId, kind: 'cancel', payload: {} }, 0);
        client.close();
      },
    }),
  };
}

describeRuntime('local, in memory', (whenDone) => local(undefined, whenDone), { durable: false });
describeRuntime('local, on SQLite', (whenDone) => local(dataFolder(whenDone), whenDone), {
  durable: true,
  // All groups run in memory, and restarts always on SQLite.
  share: 1 / 4,
});
