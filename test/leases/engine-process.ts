// A process with an engine on a shared database: `node engine-process.ts OPTIONS`, where OPTIONS is
// EngineProcessOptions as JSON. It prints one JSON value per line: `{"ready": true}`, background errors as `{"error":
// …}`, and a response to each line of its input.
import { createInterface } from 'node:readline';
import { createEngine, isEngineError } from '@heddle/engine';
import type { Engine } from '@heddle/engine';
import type { Json } from '@heddle/core';
import { effectExecutors } from '../temporal/chaos/blocks.ts';
import type { Command, EngineProcessOptions } from './processes.ts';

const { effectsUrl, ...postgres } = JSON.parse(process.argv[2] ?? '') as EngineProcessOptions;

function print(value: object): void {
  process.stdout.write(`${JSON.stringify(value)}\n`);
}

function toErrorJson(error: unknown): Json {
  const { message } = error as Error;
  return isEngineError(error) ? { code: error.code, message } : { message };
}

type CallHandler = (engine: Engine, command: Command) => Promise<unknown>;

const callHandlers: { [call: string]: CallHandler } = {
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
  onError: (error, runId) => print({ error: toErrorJson(error), runId: runId ?? null }),
});

async function respond(command: Command): Promise<void> {
  const { id, call } = command;
  try {
    print({ id, value: (await callHandlers[call]?.(engine, command)) ?? null });
  } catch (error) {
    print({ id, failure: toErrorJson(error) });
  }
}

createInterface({ input: process.stdin })
  .on('line', (line) => void respond(JSON.parse(line) as Command))
  // The process ends when its parent process ends, which closes its input.
  .once('close', () => process.exit());
print({ ready: true });
