import { describe, expect, it } from 'vitest';
import type { AgentTool } from '@heddle/blocks';
import type { ModelRequest } from '../support/model-server.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { AGENT_FIELDS, RESPONSE, createMeteredEngine, startModel, runAgent } from './metered-agents.ts';

const CLAUDE = 'claude-sonnet-4-5';
const UNAVAILABLE_RESPONSE = { status: 503, headers: { 'retry-after': '0' } };
const isOpenaiRequest = ({ providerApi }: ModelRequest): boolean => providerApi === 'openai';

const countTool: AgentTool = {
  id: 'count',
  description: 'Counts.',
  parameters: { type: 'object', properties: {} },
  run: async () => 1,
};

describe('fallback models', () => {
  it('answer in order when a model is unavailable after all attempts, and the output names the model that answered', async () => {
    const server = await startModel((request) =>
      request.providerApi === 'google' ? RESPONSE : UNAVAILABLE_RESPONSE,
    );
    const engine = await createMeteredEngine(server, {});
    const { output } = await runAgent(engine, { fallbackModels: [CLAUDE, 'gemini-2.5-flash', 'gpt-5'] });
    expect(output).toMatchObject({
      content: 'Hello.',
      model: 'gemini-2.5-flash',
      unavailable: [
        { model: 'openai/gpt-4o', code: 'MODEL_FAILED' },
        { model: `anthropic/${CLAUDE}`, code: 'MODEL_FAILED' },
      ],
      // 10 input tokens at 0.3 and 100 output tokens at 2.5 millionths of a dollar.
      cost: { totalMicros: 253 },
    });
    expect(server.requests.map(({ providerApi }) => providerApi)).toEqual([
      ...Array<string>(4).fill('openai'),
      ...Array<string>(4).fill('anthropic'),
      'google',
    ]);
  });

  it('leave the names of unavailable models in the output for later blocks', async () => {
    const server = await startModel((request) =>
      isOpenaiRequest(request) ? UNAVAILABLE_RESPONSE : RESPONSE,
    );
    const engine = await createMeteredEngine(server, {});
    const agent = block('A', 'agent', { ...AGENT_FIELDS, fallbackModels: [CLAUDE] });
    const definition = workflow(
      [agent, fn('Z', 'return [<a.unavailable[0].model>, <a.interactionId>]')],
      ['Start -> A -> Z'],
    );
    expect(await engine.execute({ workflow: definition })).toMatchObject({
      output: { result: ['openai/gpt-4o', null] },
    });
  });

  it('are those of the operator if the block has none, except models without a key', async () => {
    const server = await startModel((request) =>
      isOpenaiRequest(request) ? UNAVAILABLE_RESPONSE : RESPONSE,
    );
    const engine = await createMeteredEngine(server, {
      blocksOptions: { fallbackModels: ['gpt-4o', 'mistral-small-latest', CLAUDE] },
    });
    expect(await runAgent(engine)).toMatchObject({ output: { model: CLAUDE } });
    expect(await runAgent(engine, { fallbackModels: 'mistral-small-latest' })).toMatchObject({
      error: { code: 'MODEL_KEY_MISSING' },
    });
    expect(await runAgent(engine, { fallbackModels: ['no-such-model'] })).toMatchObject({
      error: { code: 'MODEL_UNKNOWN' },
    });
    expect(await runAgent(engine, { fallbackModels: [1] })).toMatchObject({
      error: { code: 'BLOCK_CONFIG_INVALID' },
    });
  });

  it('are not called if the model rejects the request', async () => {
    const server = await startModel(() => ({ status: 400, message: 'bad' }));
    const engine = await createMeteredEngine(server, {});
    const { error } = await runAgent(engine, { fallbackModels: [CLAUDE] });
    expect(error?.code).toBe('MODEL_REFUSED');
    expect(server.requests).toHaveLength(1);
  });

  it('do not get the key of the block, which is for the provider of its model', async () => {
    const server = await startModel((request) =>
      request.providerApi === 'compatible' ? UNAVAILABLE_RESPONSE : RESPONSE,
    );
    const engine = await createMeteredEngine(server, {});
    const fields = { model: 'mistral-small-latest', apiKey: 'key-of-the-block' };
    const { error } = await runAgent(engine, { ...fields, fallbackModels: ['groq/llama-3.1-8b-instant'] });
    expect(error).toMatchObject({ code: 'MODEL_KEY_MISSING' });
    expect(await runAgent(engine, { ...fields, fallbackModels: [CLAUDE] })).toMatchObject({
      output: { model: CLAUDE },
    });
    const lastRequest = server.requests.at(-1);
    expect(JSON.stringify(lastRequest?.headers)).not.toContain('key-of-the-block');
  });

  it('continue after tool calls, and the text of the interrupted model is retracted', async () => {
    const server = await startModel((request) => {
      if (!isOpenaiRequest(request)) return { text: 'Done.' };
      if (request.number === 1) return { text: 'I count.', toolCalls: [{ name: 'count', args: {} }] };
      return { text: 'Half', disconnects: true };
    });
    const engine = await createMeteredEngine(server, { blocksOptions: { tools: [countTool] } });
    const fields = { ...AGENT_FIELDS, tools: [{ type: 'count' }], fallbackModels: [CLAUDE] };
    const run = await engine.start({ workflow: workflow([block('A', 'agent', fields)], ['Start -> A']) });
    const texts: string[] = [];
    for await (const event of run.events()) {
      if (event.type !== 'block:emission') continue;
      const { emission } = event;
      if (emission.type === 'text') texts.push(emission.text);
      if (emission.type === 'reset') texts.length = 0;
    }
    expect(await run.result()).toMatchObject({
      output: { content: 'Done.', model: CLAUDE, toolCalls: { count: 1 } },
    });
    expect(texts.join('')).toBe('Done.');
    const lastRequestText = JSON.stringify(server.requests.at(-1)?.body);
    expect(lastRequestText).toContain('tool_result');
  });

  it('count towards spending caps like every call', async () => {
    const server = await startModel((request) =>
      isOpenaiRequest(request) ? UNAVAILABLE_RESPONSE : RESPONSE,
    );
    const engine = await createMeteredEngine(server, { maxCost: { call: 0.0105 } });
    const { error } = await runAgent(engine, { fallbackModels: [CLAUDE] });
    expect(error).toMatchObject({ code: 'SPENDING_CAP_REACHED' });
    expect(server.requests.every(isOpenaiRequest)).toBe(true);
  });
});
