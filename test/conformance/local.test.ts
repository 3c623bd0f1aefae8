import { createEngine } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import { onTestFinished } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { describeRuntime } from './runtime.ts';
import type { RuntimeUnderTest } from './runtime/suite.ts';

function local(data: string | undefined): RuntimeUnderTest {
  const engines: Engine[] = [];
  onTestFinished(async () => {
    for (const engine of engines) await engine.close({ graceMs: 0 });
  });
  return {
    durable: data !== undefined,
    open: async (options = {}) => {
      const engine = await createEngine({ ...options, ...(data !== undefined && { data }) });
      engines.push(engine);
      return engine;
    },
  };
}

describeRuntime('local, in memory', () => local(undefined));
describeRuntime('local, on SQLite', () => local(dataFolder()));
