// A process among others on one database: `node node.ts OPTIONS`, JSON of NodeOptions. It prints one JSON value per line:
// `{"ready": true}`, what goes wrong in the background as `{"error": …}`, and an answer to each line it is given.
import { createInterface } from 'node:readline';
import { createEngine, isEngineError } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import type { Json } from '@heddle/core';
import { blocksOf } from '../temporal/chaos/blocks.ts';
import type { Command, NodeOptions } from './processes.ts';

const { effects, ...postgres } = JSON.parse(process.argv[2] ?? '') as NodeOptions;

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

function told(error: unknown): Json {
  const { message } = error as Error;
  return isEngineError(error) ? { code: error.code, message } : { message };
}

type Call = (engine: Engine, command: Command) => Promise<unknown>;

const calls: { [call: string]: Call } = {
  start: async (engine, { runId = '', workflow = '', input = {} }) => {
    await engine.start(workflow, input, { runId });
    return runId;
  },
  execute: async (engine, { runId = '', workflow = '', input = {} }) =>
    engine.execute(workflow, input, { runId }),
  deploy: async (engine, { deployed }) => engine.deploy(deployed),
  getRun: async (engine, { runId = '' }) => engine.getRun(runId),
  result: async (engine, { runId = '' }) => (await engine.attach(runId)).result(),
  resume: async (engine, { runId = '', token, input = {} }) =>
    engine.resume(runId, { input, ...(token !== undefined && { token }) }),
  cancel: async (engine, { runId = '' }) => engine.cancel(runId),
  close: async (engine) => {
    await engine.close({ graceMs: 0 });
    process.stdin.unref();
    return null;
  },
};

const engine = await createEngine({
  postgres,
  blocks: blocksOf(effects),
  sandbox: { maxProcesses: 1 },
  onError: (error, runId) => print({ error: told(error), runId: runId ?? null }),
});

async function answer(command: Command): Promise<void> {
  const { id, call } = command;
  try {
    print({ id, value: (await calls[call]?.(engine, command)) ?? null });
  } catch (error) {
    print({ id, refused: told(error) });
  }
}

createInterface({ input: process.stdin })
  .on('line', (line) => void answer(JSON.parse(line) as Command))
  // Never outlives who has started it.
  .once('close', () => process.exit());
print({ ready: true });
