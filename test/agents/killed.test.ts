import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { postgresDatabase, storesToTest } from '../support/postgres.ts';
import { startCountingModel, startProcess } from './killable-process.ts';
import type { AgentProcessOptions } from './killable-process.ts';

const engineOptionsOn = async (
  store: string,
  folder: string,
): Promise<NonNullable<AgentProcessOptions['engine']>> =>
  store === 'sqlite'
    ? { data: join(folder, 'data') }
    : { postgres: { url: await postgresDatabase(), leaseMs: 3000 } };

describe.each(storesToTest('tool calls with a kill'))(
  'an agent whose process is killed in its fourth tool call, on %s',
  (store) => {
    it('continues the child run if the tool is a workflow, and starts no second one', async () => {
      const { folder, common, countModelCalls, expectOneRepeated } = await startCountingModel();
      const options = { engine: await engineOptionsOn(store, folder), ...common, byWorkflow: true };
      expect(await startProcess({ ...options, stop: '4' }).lastLine).toBe('4');
      expect(countModelCalls()).toBe(4);
      const output = JSON.parse(await startProcess(options).lastLine) as { children: number };
      expectOneRepeated(output);
      expect(output.children).toBe(4);
    });

    it('repeats only the interrupted call', async () => {
      const { folder, common, countModelCalls, expectOneRepeated } = await startCountingModel();
      const engine = await engineOptionsOn(store, folder);
      expect(await startProcess({ engine, ...common, stop: '4' }).lastLine).toBe('4');
      expect(countModelCalls()).toBe(4);
      expectOneRepeated(JSON.parse(await startProcess({ engine, ...common }).lastLine));
    });
  },
);
