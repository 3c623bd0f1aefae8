import { blocks } from '@heddle/blocks';
import type { AgentTool, BlocksOptions } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions, RunEvent } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import type { ModelResponse, ModelRequest, ModelServer } from '../support/model-server.ts';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';

const MODELS = {
  openai: 'gpt-4o',
  anthropic: 'claude-sonnet-4-5',
  google: 'gemini-2.5-flash',
  compatible: 'local/scripted',
} as const;
const PROVIDER_APIS = Object.keys(MODELS) as (keyof typeof MODELS)[];
const CREDENTIALS = { openai: 'key-of-openai', anthropic: 'key-of-anthropic', google: 'key-of-google' };
const AGENT_FIELDS = { messages: [{ role: 'user', content: 'What is the weather in <start.city>?' }] };

type Responses = readonly ModelResponse[] | ((request: ModelRequest) => ModelResponse);

/** Starts a model that gives these responses in order; the last response repeats. */
async function startModel(responses: Responses): Promise<ModelServer> {
  const server = await startModelServer((request) =>
    typeof responses === 'function'
      ? responses(request)
      : (responses[Math.min(request.number, responses.length) - 1] ?? {}),
  );
  onTestFinished(() => server.close());
  return server;
}

interface AgentOptions {
  fields?: JsonObject;
  input?: JsonObject;
  options?: BlocksOptions;
  engine?: EngineOptions;
}

async function startAgent(
  server: ModelServer,
  { fields = {}, input = { city: 'Oslo' }, options, engine: engineOptions }: AgentOptions,
) {
  const engine = await createEngine({
    blocks: blocks(options),
    services: server.services,
    credentials: CREDENTIALS,
    ...engineOptions,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const agent = block('A', 'agent', { ...AGENT_FIELDS, model: MODELS.openai, ...fields });
  const run = await engine.start({ workflow: workflow([agent], ['Start -> A']) }, input);
  return { engine, run };
}

async function ask(server: ModelServer, agentOptions: AgentOptions = {}) {
  const { run } = await startAgent(server, agentOptions);
  return run.result();
}

const weatherTool: AgentTool = {
  id: 'weather',
  description: 'Returns the weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  run: async ({ city }, { params }) => ({ city: city ?? null, ...params, degrees: 7 }),
};

const WEATHER_CONFIG = { type: 'weather', params: { unit: 'C' } };

describe.each(PROVIDER_APIS)('an agent with the interface of %s', (providerApi) => {
  const model = MODELS[providerApi];

  it('sends its messages and returns the answer with tokens and cost', async () => {
    const server = await startModel([
      { text: 'Rain.', inputTokens: 1000, cachedTokens: 200, outputTokens: 100 },
    ]);
    const result = await ask(server, { fields: { model, temperature: '0.5', maxTokens: 77 } });
    expect(result).toMatchObject({
      status: 'completed',
      output: {
        content: 'Rain.',
        tokens: { input: 1000, output: 100, total: 1100 },
        toolCalls: { list: [], count: 0 },
      },
    });
    expect(server.requests).toHaveLength(1);
    const [request] = server.requests;
    expect(request?.providerApi).toBe(providerApi);
    expect(JSON.stringify(request?.body)).toContain('What is the weather in Oslo?');
    expect(JSON.stringify(request?.body)).toMatch(/"temperature":0\.5.*77|77.*"temperature":0\.5/);
    if (providerApi !== 'compatible')
      expect(JSON.stringify(request?.headers)).toContain(`key-of-${providerApi}`);
  });

  it('calls tools until the model answers, and outputs the calls', async () => {
    const server = await startModel([
      {
        text: 'I will look it up.',
        toolCalls: [
          { name: 'weather', args: { city: 'Oslo' } },
          { name: 'weather', args: { city: 'Bergen' } },
        ],
      },
      { text: 'Oslo 7, Bergen 7.' },
    ]);
    const result = await ask(server, {
      fields: { model, tools: [WEATHER_CONFIG] },
      options: { tools: [weatherTool] },
    });
    expect(result).toMatchObject({
      status: 'completed',
      output: {
        content: 'Oslo 7, Bergen 7.',
        tokens: { total: 30 },
        toolCalls: {
          count: 2,
          list: [
            {
              name: 'weather',
              arguments: { city: 'Oslo' },
              result: { city: 'Oslo', unit: 'C', degrees: 7 },
              success: true,
            },
            { name: 'weather', arguments: { city: 'Bergen' }, success: true },
          ],
        },
      },
    });
    expect(JSON.stringify(server.requests[1]?.body)).toContain('degrees');
    // The model does not see parameters that the author has set.
    expect(JSON.stringify(server.requests[0]?.body)).not.toContain('"unit"');
  });

  it('returns the fields of its response format, and asks the model once to correct an answer that does not match', async () => {
    const server = await startModel([{ text: '{"degrees": "cold"}' }, { text: '{"degrees": -3}' }]);
    const schema = {
      type: 'object',
      properties: { degrees: { type: 'number' } },
      required: ['degrees'],
      additionalProperties: false,
    };
    const responseFormat = JSON.stringify({ name: 'weather', schema });
    const result = await ask(server, { fields: { model, responseFormat } });
    expect(result).toMatchObject({ status: 'completed', output: { degrees: -3, tokens: { total: 30 } } });
    expect(result.output).toMatchObject({ content: { degrees: -3 } });
    expect(JSON.stringify(server.requests[1]?.body)).toContain('/degrees');
  });
});

describe('an agent whose provider fails', () => {
  it('waits as long as the provider requests, and calls again', async () => {
    const clock = new TestClock();
    const server = await startModel([
      { status: 429, headers: { 'retry-after': '7' } },
      { status: 500 },
      { text: 'Rain.' },
    ]);
    const { run } = await startAgent(server, { engine: { clock } });
    await clock.waitForTimer(7000);
    clock.advance(6999);
    expect(server.requests).toHaveLength(1);
    clock.advance(1);
    await clock.waitForTimer(2000);
    clock.advance(2000);
    expect(await run.result()).toMatchObject({ status: 'completed', output: { content: 'Rain.' } });
    expect(server.requests).toHaveLength(3);
  });

  it('fails after four attempts', async () => {
    const clock = new TestClock();
    const server = await startModel([{ status: 503, message: 'overloaded' }]);
    const { run } = await startAgent(server, { engine: { clock } });
    for (const ms of [1000, 2000, 4000]) {
      await clock.waitForTimer(ms);
      clock.advance(ms);
    }
    const result = await run.result();
    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED' } });
    expect(result.error?.message).toContain(
      'The model "gpt-4o" of openai responded with status 503: overloaded',
    );
    expect(server.requests).toHaveLength(4);
  });

  it('fails immediately if the provider rejects the request, without the key in the message', async () => {
    const server = await startModel([{ status: 401, message: 'Incorrect API key provided: key-of-openai' }]);
    const result = await ask(server);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_REFUSED' } });
    expect(result.error?.message).toMatch(
      /status 401: Incorrect API key provided: \[key\] The key is not valid/,
    );
    expect(server.requests).toHaveLength(1);
  });

  it('discards the text of an interrupted answer, and calls again', async () => {
    const clock = new TestClock();
    const server = await startModel([
      { chunks: ['Rain ', 'an'], disconnects: true },
      { chunks: ['Snow ', 'today.'] },
    ]);
    const { run } = await startAgent(server, { engine: { clock } });
    const events = collectEvents(run.events());
    await clock.waitForTimer(1000);
    clock.advance(1000);
    expect(await run.result()).toMatchObject({ status: 'completed', output: { content: 'Snow today.' } });
    const emissions = (await events).flatMap((event) =>
      event.type === 'block:emission' ? [event.emission] : [],
    );
    expect(emissions).toEqual([
      { type: 'text', text: 'Rain ' },
      { type: 'reset' },
      { type: 'text', text: 'Snow ' },
      { type: 'text', text: 'today.' },
    ]);
  });
});

describe('an agent whose model makes mistakes', () => {
  it('tells the model about unknown tools, invalid arguments and failed calls', async () => {
    const brokenTool: AgentTool = {
      ...weatherTool,
      id: 'broken',
      run: async () => {
        throw new Error('The weather service is closed.');
      },
    };
    const server = await startModel([
      {
        toolCalls: [
          { name: 'climate', args: {} },
          { name: 'weather', args: '{"city": ' },
          { name: 'weather', args: { town: 'Oslo' } },
          { name: 'broken', args: { city: 'Oslo' } },
        ],
      },
      { text: 'I do not know.' },
    ]);
    const fields = { tools: [WEATHER_CONFIG, { type: 'broken' }] };
    const result = await ask(server, { fields, options: { tools: [weatherTool, brokenTool] } });
    expect(result).toMatchObject({ status: 'completed', output: { content: 'I do not know.' } });
    const { list } = (result.output as { toolCalls: { list: { result: string; success: boolean }[] } })
      .toolCalls;
    expect(list.map(({ success }) => success)).toEqual([false, false, false, false]);
    const texts = list.map((call) => call.result);
    expect(texts).toEqual([
      'There is no tool "climate". The tools are: weather, broken.',
      'The arguments are not a JSON object.',
      expect.stringMatching(/^The arguments do not match the schema: /),
      'The weather service is closed.',
    ]);
    expect(JSON.stringify(server.requests[1]?.body)).toContain('The weather service is closed.');
  });

  it('fails after 25 rounds of tool calls', async () => {
    const server = await startModel([{ toolCalls: [{ name: 'weather', args: { city: 'Oslo' } }] }]);
    const result = await ask(server, {
      fields: { tools: [WEATHER_CONFIG] },
      options: { tools: [weatherTool] },
    });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'AGENT_ROUNDS_EXCEEDED' } });
    expect(server.requests).toHaveLength(25);
  });

  it('fails if the corrected answer does not match the response format either', async () => {
    const server = await startModel([{ text: 'It is cold.' }]);
    const responseFormat = { schema: { type: 'object', properties: { degrees: { type: 'number' } } } };
    const result = await ask(server, { fields: { responseFormat } });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'AGENT_OUTPUT_INVALID' } });
    expect(server.requests).toHaveLength(2);
  });
});

describe('a tool whose code is in the agent', () => {
  it('runs in the sandbox with the arguments as variables', async () => {
    const tool = {
      type: 'custom-tool',
      title: 'Double',
      schema: {
        type: 'function',
        function: {
          name: 'double',
          description: 'Doubles a number.',
          parameters: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
        },
      },
      code: 'return { doubled: n * 2, same: params.n }',
      usageControl: 'force',
    };
    const server = await startModel([{ toolCalls: [{ name: 'double', args: { n: 21 } }] }, { text: '42' }]);
    const result = await ask(server, { fields: { tools: [tool] } });
    expect(result).toMatchObject({
      output: { content: '42', toolCalls: { list: [{ result: { doubled: 42, same: 21 }, success: true }] } },
    });
    expect(server.requests[0]?.body['tool_choice']).toEqual({ type: 'function', name: 'double' });
    expect(server.requests[1]?.body['tool_choice']).toBe('auto');
  });
});

describe('an agent fails before it calls the model if it', () => {
  const createNestedSchema = (): JsonObject => {
    let schema: JsonObject = { type: 'string' };
    for (let depth = 0; depth < 40; depth++) schema = { type: 'object', properties: { a: schema } };
    return schema;
  };

  it.each<[problem: string, fields: JsonObject, code: string, message: RegExp]>([
    ['has no model', { model: '' }, 'MODEL_UNKNOWN', /The block "A" has no model/],
    [
      'names an unknown model',
      { model: 'weaver-9' },
      'MODEL_UNKNOWN',
      /"weaver-9", which belongs to no known provider/,
    ],
    [
      'has no key',
      { model: 'mistral-large-latest' },
      'MODEL_KEY_MISSING',
      /no key for mistral.*MISTRAL_API_KEY.*--credential mistral=KEY/,
    ],
    ['has no base URL', { model: 'vllm/llama' }, 'MODEL_ADDRESS_MISSING', /--service vllm=URL/],
    ['has no messages', { messages: [] }, 'BLOCK_CONFIG_INVALID', /The block "A" has no messages/],
    [
      'has a message of an unknown role',
      { messages: [{ role: 'robot', content: 'x' }] },
      'BLOCK_CONFIG_INVALID',
      /role "robot"/,
    ],
    [
      'has an unknown reasoning effort',
      { reasoningEffort: 'huge' },
      'BLOCK_CONFIG_INVALID',
      /has an invalid "reasoningEffort": it must be one of auto, none, minimal/,
    ],
    [
      'has an unknown verbosity',
      { verbosity: 'long' },
      'BLOCK_CONFIG_INVALID',
      /has an invalid "verbosity": it must be one of auto, /,
    ],
    [
      'has a tool with an unknown usageControl',
      { tools: [{ type: 'custom-tool', title: 'Mine', usageControl: 'never' }] },
      'BLOCK_CONFIG_INVALID',
      /has a tool with an invalid "usageControl": it must be auto, force or none/,
    ],
    [
      'has a tool that does not exist',
      { tools: [{ type: 'fax' }] },
      'TOOL_UNKNOWN',
      /uses the unknown tool "fax"\. Remove it/,
    ],
    [
      'has a tool without code',
      { tools: [{ type: 'custom-tool', title: 'Mine' }] },
      'BLOCK_CONFIG_INVALID',
      /a tool \(Mine\) without code/,
    ],
    [
      'has a response format that is not JSON',
      { responseFormat: '{"a":' },
      'BLOCK_CONFIG_INVALID',
      /The block "A" has a response format that is not JSON/,
    ],
    [
      'has a response format that no answer can match',
      { responseFormat: { type: 'object', required: ['a'], additionalProperties: false } },
      'BLOCK_CONFIG_INVALID',
      /The block "A" has a response format that no answer can match: it requires "a", which it does not allow/,
    ],
    [
      'has an invalid maximum cost',
      { maxCost: 'a lot' },
      'BLOCK_CONFIG_INVALID',
      /has an invalid "maxCost": it must be a number/,
    ],
    [
      'has a response format that refers to another document',
      { responseFormat: { $ref: 'https://example.com/a.json' } },
      'BLOCK_CONFIG_INVALID',
      /refers to another document/,
    ],
    [
      'has a response format that is nested too deeply',
      { responseFormat: createNestedSchema() },
      'BLOCK_CONFIG_INVALID',
      /more than 32 levels/,
    ],
    [
      'has an invalid temperature',
      { temperature: 'hot' },
      'BLOCK_CONFIG_INVALID',
      /The block "A" has an invalid "temperature": it must be a number/,
    ],
  ])('%s', async (_problem, fields, code, message) => {
    const server = await startModel([{ text: 'never' }]);
    const result = await ask(server, { fields });
    expect(result).toMatchObject({ status: 'failed', error: { code } });
    expect(result.error?.message).toMatch(message);
    expect(server.requests).toEqual([]);
  });
});

async function collectEvents(events: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const collected: RunEvent[] = [];
  for await (const event of events) collected.push(event);
  return collected;
}
