import { blocks } from '@heddle/blocks';
import type { BlocksOptions } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions, RunResource } from '@heddle/engine';
import { onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import type { ModelResponse, ModelRequest, ModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

/** A model that costs 2.5 millionths of a dollar for an input token, and 10 for an output token. */
export const MODEL = 'gpt-4o';
/** Fields of an agent whose longest answer costs one cent. */
export const AGENT_FIELDS: JsonObject = {
  model: MODEL,
  maxTokens: 1000,
  messages: [{ role: 'user', content: 'Hello' }],
};
/** The cost of `RESPONSE`, in millionths of a dollar. */
export const RESPONSE_COST_MICROS = 1025;
export const RESPONSE: ModelResponse = { text: 'Hello.', inputTokens: 10, outputTokens: 100 };

export async function startModel(answer: (request: ModelRequest) => ModelResponse): Promise<ModelServer> {
  const server = await startModelServer(answer);
  onTestFinished(() => server.close());
  return server;
}

export interface MeteredEngineOptions extends EngineOptions {
  blocksOptions?: BlocksOptions;
}

export async function createMeteredEngine(
  server: ModelServer,
  { blocksOptions, ...options }: MeteredEngineOptions,
): Promise<Engine> {
  const engine = await createEngine({
    blocks: blocks(blocksOptions),
    services: server.services,
    credentials: { openai: 'key-of-openai', anthropic: 'key-of-anthropic', google: 'key-of-google' },
    ...options,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine;
}

/** Runs one agent with these fields. */
export async function runAgent(engine: Engine, fields: JsonObject = {}, id?: string): Promise<RunResource> {
  const agent = block('A', 'agent', { ...AGENT_FIELDS, ...fields });
  return engine.execute({ workflow: workflow([agent], ['Start -> A'], id === undefined ? {} : { id }) });
}
