import { blocks } from '@heddle/blocks';
import type { AgentTool } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions, RunEvent } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import type { ModelResponse } from '../support/model-server.ts';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';

/** A model of each interface, and of each provider with its own SDK. */
const MODELS: readonly (readonly [provider: string, model: string, fields: JsonObject])[] = [
  ['openai', 'gpt-4o', {}],
  ['anthropic', 'claude-sonnet-4-5', {}],
  ['google', 'gemini-2.5-flash', {}],
  ['mistral', 'mistral/mistral-large-latest', {}],
  ['groq', 'groq/llama-3.3-70b-versatile', {}],
  ['openrouter', 'openrouter/meta-llama/llama-3.3-70b-instruct', {}],
  ['azure', 'azure/my-gpt', {}],
  ['azure with a dated version', 'azure/my-gpt', { azureApiVersion: '2024-10-21' }],
  ['bedrock', 'bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0', {}],
  ['a compatible server', 'local/scripted', {}],
];
const PROVIDERS = ['openai', 'anthropic', 'google', 'mistral', 'groq', 'openrouter', 'azure', 'bedrock'];
const INTERFACE_MODELS = MODELS.filter(([name]) =>
  ['openai', 'anthropic', 'google', 'bedrock', 'a compatible server'].includes(name),
);

const weatherTool: AgentTool = {
  id: 'weather',
  description: 'Returns the weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  run: async ({ city }) => ({ city: city ?? null, degrees: 7 }),
};

/** Starts a run of an agent whose model gives these responses in order; the last one repeats. */
async function startRun(
  responses: readonly ModelResponse[],
  fields: JsonObject,
  options: EngineOptions = {},
) {
  const server = await startModelServer(
    ({ number }) => responses[Math.min(number, responses.length) - 1] as ModelResponse,
  );
  onTestFinished(() => server.close());
  const engine = await createEngine({
    blocks: blocks({ tools: [weatherTool] }),
    services: server.services,
    credentials: Object.fromEntries(PROVIDERS.map((provider) => [provider, 'secret-key'])),
    ...options,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const questionFields = { messages: [{ role: 'user', content: 'Is it warm in Oslo?' }] };
  const agent = block('A', 'agent', { ...questionFields, model: 'gpt-4o', ...fields });
  const run = await engine.start({ workflow: workflow([agent], ['Start -> A']) }, {});
  return { server, run };
}

async function ask(responses: readonly ModelResponse[], fields: JsonObject, options?: EngineOptions) {
  const { server, run } = await startRun(responses, fields, options);
  const result = await run.result();
  return { server, result, message: result.error?.message };
}

/** Returns the emitted texts by kind, without the text that was retracted. */
async function collectTexts(events: AsyncIterable<RunEvent>): Promise<{ text: string; thinking: string }> {
  const texts = { text: '', thinking: '' };
  for await (const event of events) {
    if (event.type !== 'block:emission') continue;
    const { emission } = event;
    if (emission.type === 'reset') texts.text = '';
    if (emission.type === 'text' || emission.type === 'thinking') texts[emission.type] += emission.text;
  }
  return texts;
}

describe.each(MODELS)('an agent with %s, whose server does not stream', (_, model, fields) => {
  it('reads text, tool calls and tokens, and emits the text', async () => {
    const { server, run } = await startRun(
      [
        {
          isNonStreaming: true,
          text: 'I look.',
          toolCalls: [{ name: 'weather', args: { city: 'Oslo' } }],
          inputTokens: 20,
          outputTokens: 5,
        },
        { isNonStreaming: true, chunks: ['It is', ' cold.'], inputTokens: 30, outputTokens: 7 },
      ],
      { model, ...fields, tools: [{ type: 'weather' }] },
    );
    const texts = collectTexts(run.events());
    expect(await run.result()).toMatchObject({
      status: 'completed',
      output: {
        content: 'It is cold.',
        tokens: { input: 50, output: 12, total: 62 },
        toolCalls: { count: 1, list: [{ name: 'weather', result: { city: 'Oslo', degrees: 7 } }] },
      },
    });
    expect(server.requests).toHaveLength(2);
    expect((await texts).text).toBe('It is cold.');
  });

  it('reads an answer in the requested format', async () => {
    const properties = { warm: { type: 'boolean' } };
    const schema = { type: 'object', properties, required: ['warm'], additionalProperties: false };
    const responseFormat = { name: 'weather', schema };
    const { server, result } = await ask([{ isNonStreaming: true, text: '{"warm":false}' }], {
      ...{ model, ...fields, responseFormat },
    });
    expect(result).toMatchObject({ status: 'completed', output: { warm: false } });
    expect(server.requests).toHaveLength(1);
  });
});

describe.each(INTERFACE_MODELS)('an answer with the interface of %s', (_, model) => {
  it('has the reasoning of the model if it is not streamed', async () => {
    const { run } = await startRun([{ isNonStreaming: true, reasoning: 'It snows.', text: 'No.' }], {
      model,
    });
    const texts = collectTexts(run.events());
    expect(await run.result()).toMatchObject({ status: 'completed', output: { content: 'No.' } });
    expect(await texts).toEqual({ text: 'No.', thinking: 'It snows.' });
  });

  it('has the same content, tokens and cost, streamed or not', async () => {
    const response = { text: 'No.', inputTokens: 1000, cachedTokens: 200, outputTokens: 100 };
    const outputs = [];
    for (const mode of [{ isNonStreaming: true }, {}] as const) {
      const { result } = await ask([{ ...response, ...mode }], { model });
      outputs.push({ ...(result.output as JsonObject), providerTiming: null });
    }
    expect(outputs[0]).toMatchObject({ content: 'No.', tokens: { input: 1000, output: 100, cached: 200 } });
    expect(outputs[0]).toEqual(outputs[1]);
  });

  it.each<[string, ModelResponse, RegExp]>([
    ['malformed JSON', { body: '{"id": "answer", "content' }, /with malformed JSON\..*begins with: \{"id"/],
    ['a web page', { body: '<html>Sign in</html>', type: 'text/html' }, /with a web page\..*Sign in/],
    ['text', { body: 'upstream not ready', type: 'text/plain' }, /neither a stream nor JSON.*upstream/],
    ['an empty body', { body: '' }, /with an empty body\. Check the base URL of the provider/],
    ['an empty stream', { body: ' \n', type: 'text/event-stream' }, /with an empty body\./],
    [
      'another JSON document',
      { body: '{"detail":"secret-key"}' },
      /not a response of this API.*\[key\]|no text, no tool call/,
    ],
    ['a JSON list', { body: '[1]' }, /not a response of this API/],
  ])('that is %s fails the block after one call, with a clear message', async (_name, answer, message) => {
    const fields = model === 'local/scripted' ? { apiKey: 'secret-key' } : {};
    const { server, result, message: text } = await ask([answer], { model, ...fields });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED' } });
    expect(text).toMatch(/^The model ".+" of \w+ responded with /);
    expect(text).toMatch(message);
    expect(server.requests).toHaveLength(1);
  });

  it.each(['disconnects', 'endsEarly'] as const)(
    'that breaks off, or ends without its last events, is requested again (%s)',
    async (fault) => {
      const clock = new TestClock();
      const { server, run } = await startRun(
        [
          fault === 'disconnects'
            ? { isNonStreaming: true, text: 'Rain.', disconnects: true }
            : { text: 'Rain.', endsEarly: true },
          { isNonStreaming: true, text: 'Snow.' },
        ],
        { model },
        { clock },
      );
      await clock.waitForTimer(1000);
      clock.advance(1000);
      expect(await run.result()).toMatchObject({ status: 'completed', output: { content: 'Snow.' } });
      expect(server.requests).toHaveLength(2);
    },
  );

  it('with an error that a gateway forwards is handled like the error itself', async () => {
    const clock = new TestClock();
    const errorResponse = (code: number, message: string): ModelResponse => ({
      body: JSON.stringify({ type: 'error', error: { type: 'error', code, message, status: 'X' }, message }),
    });
    const responses = [errorResponse(429, 'slow down'), errorResponse(401, 'no')];
    const { server, run } = await startRun(responses, { model }, { clock });
    await clock.waitForTimer(1000);
    clock.advance(1000);
    const result = await run.result();
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'MODEL_REFUSED', details: { status: 401 } },
    });
    expect(result.error?.message).toMatch(/responded with status 401: no The key is not valid/);
    expect(server.requests).toHaveLength(2);
  });

  it('that is empty fails the block with a message that says so', async () => {
    const emptyResponse = { isNonStreaming: true, inputTokens: 0, outputTokens: 0 } as const;
    const { server, result, message } = await ask([emptyResponse], { model });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED' } });
    expect(message).toMatch(/no text, no tool call and no tokens\. Check that the server/);
    expect(server.requests).toHaveLength(1);
  });
});

describe('an answer of a model', () => {
  it('is read as a stream, even if its media type is JSON', async () => {
    const { result } = await ask([{ chunks: ['It is', ' cold.'], type: 'application/json' }], {});
    expect(result).toMatchObject({ output: { content: 'It is cold.', tokens: { total: 15 } } });
  });

  it('is read as a JSON document, even if its media type is that of a stream', async () => {
    const { result } = await ask(
      [{ isNonStreaming: true, text: 'It is cold.', type: 'text/event-stream' }],
      {},
    );
    expect(result).toMatchObject({ output: { content: 'It is cold.', tokens: { total: 15 } } });
  });

  it('can have tokens but no text', async () => {
    const { result } = await ask([{ inputTokens: 10, outputTokens: 1 }], {});
    expect(result).toMatchObject({ status: 'completed', output: { content: '', tokens: { total: 11 } } });
  });

  // Bedrock has a binary stream.
  it.each(INTERFACE_MODELS.filter(([name]) => name !== 'bedrock'))(
    'of %s that has malformed JSON in its stream is requested again',
    async (_, model) => {
      const clock = new TestClock();
      const brokenAnswer = { body: 'data: {"id": "answer", "text\n\n', type: 'text/event-stream' };
      const { run } = await startRun(
        [brokenAnswer, brokenAnswer, brokenAnswer, brokenAnswer],
        { model },
        { clock },
      );
      for (const ms of [1000, 2000, 4000]) {
        await clock.waitForTimer(ms);
        clock.advance(ms);
      }
      const { error } = await run.result();
      expect(error).toMatchObject({ code: 'MODEL_FAILED' });
      expect(error?.message).toMatch(/^The model ".+" of \w+ did not answer: .*JSON/);
    },
  );

  it('that is streamed without content fails the block with a message that says so', async () => {
    const { server, result, message } = await ask([{ inputTokens: 0, outputTokens: 0 }], {});
    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED' } });
    expect(message).toMatch(/no text, no tool call and no tokens/);
    expect(server.requests).toHaveLength(1);
  });

  it('with an error without a status is requested again', async () => {
    const clock = new TestClock();
    const errorResponse = { body: '{"error":{"type":"overloaded","message":"busy"}}' };
    const { run } = await startRun(
      [errorResponse, errorResponse, errorResponse, errorResponse],
      {},
      { clock },
    );
    for (const ms of [1000, 2000, 4000]) {
      await clock.waitForTimer(ms);
      clock.advance(ms);
    }
    expect((await run.result()).error?.message).toBe(
      'The model "gpt-4o" of openai responded with an error: busy',
    );
  });

  it('that is too large is not requested again, streamed or not', async () => {
    const text = 'x'.repeat(10 * 2 ** 20);
    for (const mode of [{ isNonStreaming: true }, {}] as const) {
      const { server, result, message } = await ask([{ ...mode, text }], {});
      expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_FAILED' } });
      expect(message).toMatch(/has more than 10485760 bytes/);
      expect(server.requests).toHaveLength(1);
    }
  });

  it('that cannot be read makes the fallback model answer', async () => {
    const { result } = await ask([{ body: '<html>' }, { text: 'Cold.' }], {
      fallbackModels: 'local/scripted',
    });
    expect(result).toMatchObject({ output: { content: 'Cold.', unavailable: [{ model: 'openai/gpt-4o' }] } });
  });

  it('of Google that needs another request is continued', async () => {
    const partialAnswer = {
      candidates: [
        {
          content: { role: 'model', parts: [{ text: 'It is' }] },
          finishReason: 'CONTINUATION',
          continuationToken: 'next',
        },
      ],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 2, totalTokenCount: 12 },
    };
    const { server, result } = await ask([{ body: JSON.stringify(partialAnswer) }, { text: ' cold.' }], {
      model: 'gemini-2.5-flash',
    });
    expect(result).toMatchObject({ status: 'completed', output: { content: 'It is cold.' } });
    expect(server.requests[1]?.path).toMatch(/:generateContent$/);
  });
});
