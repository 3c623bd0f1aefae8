import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { startCountingModel, startProcess } from './killable-process.ts';
import type { AgentProcessOptions } from './killable-process.ts';

const createEngineOptions = async (
  store: string,
  folder: string,
): Promise<NonNullable<AgentProcessOptions['engine']>> =>
  store === 'sqlite'
    ? { data: join(folder, 'data') }
    : { postgres: { url: await createPostgresDatabase(), leaseMs: 3000 } };

describe.each(storesToTest('tool calls with a kill'))(
  'an agent whose process is killed in its fourth tool call, on %s',
  (store) => {
    it('continues the child run if the tool is a workflow, and starts no second one', async () => {
      const { folder, commonOptions, countModelCalls, expectOneRepeatedCall } = await startCountingModel();
      const options = {
        engine: await createEngineOptions(store, folder),
        ...commonOptions,
        countsByWorkflow: true,
      };
      expect(await startProcess({ ...options, stopPoint: '4' }).lastLine).toBe('4');
      expect(countModelCalls()).toBe(4);
      const output = JSON.parse(await startProcess(options).lastLine) as { childCount: number };
      expectOneRepeatedCall(output);
      expect(output.childCount).toBe(4);
    });

    it('repeats only the interrupted call', async () => {
      const { folder, commonOptions, countModelCalls, expectOneRepeatedCall } = await startCountingModel();
      const engine = await createEngineOptions(store, folder);
      expect(await startProcess({ engine, ...commonOptions, stopPoint: '4' }).lastLine).toBe('4');
      expect(countModelCalls()).toBe(4);
      expectOneRepeatedCall(JSON.parse(await startProcess({ engine, ...commonOptions }).lastLine));
    });
  },
);
