// A process with an engine on a shared database: `node node.ts OPTIONS`, where OPTIONS is NodeOptions as JSON. It
// prints one JSON value per line: `{"ready": true}`, background errors as `{"error": …}`, and a response to each line
// of its input.
import { createInterface } from 'node:readline';
import { createEngine, isEngineError } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import type { Json } from '@heddle/core';
import { effectExecutors } from '../temporal/chaos/blocks.ts';
import type { Command, NodeOptions } from './processes.ts';

const { effectsUrl, ...postgres } = JSON.parse(process.argv[2] ?? '') as NodeOptions;

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

function errorJson(error: unknown): Json {
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
  deploy: async (engine, { definition }) => engine.deploy(definition),
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
  blocks: effectExecutors(effectsUrl),
  sandbox: { maxProcesses: 1 },
  onError: (error, runId) => print({ error: errorJson(error), runId: runId ?? null }),
});

async function respond(command: Command): Promise<void> {
  const { id, call } = command;
  try {
    print({ id, value: (await calls[call]?.(engine, command)) ?? null });
  } catch (error) {
    print({ id, failure: errorJson(error) });
  }
}

createInterface({ input: process.stdin })
  .on('line', (line) => void respond(JSON.parse(line) as Command))
  // The process ends when its parent process ends, which closes its input.
  .once('close', () => process.exit());
print({ ready: true });
