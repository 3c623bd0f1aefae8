import { blocks } from '@heddle/blocks';
import type { AgentTool } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import type { ModelResponse } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

const weatherTool: AgentTool = {
  id: 'weather',
  description: 'Returns the weather.',
  parameters: { type: 'object', properties: {} },
  run: async () => ({ degrees: 7 }),
};

/** Asks an agent whose model gives these responses in order. */
async function ask(responses: readonly ModelResponse[], fields: JsonObject) {
  const server = await startModelServer(({ number }) => responses[number - 1] ?? {});
  onTestFinished(() => server.close());
  const engine = await createEngine({
    blocks: blocks({ tools: [weatherTool] }),
    services: server.services,
    credentials: Object.fromEntries(
      ['openai', 'anthropic', 'google', 'bedrock', 'openrouter'].map((name) => [name, 'key']),
    ),
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const messages = [{ role: 'user', content: 'Is it warm?' }];
  const agent = block('A', 'agent', { messages, ...fields });
  const run = await engine.start({ workflow: workflow([agent], ['Start -> A']) }, {});
  let thinkingText = '';
  for await (const event of run.events())
    if (event.type === 'block:emission' && event.emission.type === 'thinking')
      thinkingText += event.emission.text;
  return {
    thinkingText,
    result: await run.result(),
    requestBodies: server.requests.map(({ body }) => body),
  };
}

const THINKING_PATTERN = /"thinking":\{"type":"enabled","budget_tokens":\d+\}/;

/** By model: the fields that request a high effort, the reasoning that the next round sends back, and its tokens. */
const CASES: readonly (readonly [
  model: string,
  effortPattern: RegExp,
  reasoningPattern: RegExp | undefined,
  reasoningTokens: number,
])[] = [
  ['gpt-5.2', /"reasoning":\{"effort":"high"/, /\{"type":"item_reference","id":"rs_1"\}/, 30],
  ['claude-sonnet-4-5', THINKING_PATTERN, /"thinking":"I must look\.","signature":"signed"/, 0],
  ['gemini-2.5-flash', /"thinkingBudget":\d+,"includeThoughts":true/, /"thoughtSignature":"signed"/, 30],
  [`bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0`, THINKING_PATTERN, /"signature":"signed"/, 0],
  [
    'openrouter/anthropic/claude-sonnet-4.5',
    /"reasoning_effort":"high"/,
    /"reasoning_content":"I must look\."/,
    30,
  ],
];

describe.each(CASES)('the reasoning of %s', (model, effortPattern, reasoningPattern, reasoningTokens) => {
  it.each([{}, { isNonStreaming: true }] as const)(
    'has the effort of the block, is emitted separately from the answer, and is sent back with tool results (%j)',
    async (responseForm) => {
      const { thinkingText, result, requestBodies } = await ask(
        [
          {
            ...responseForm,
            reasoning: 'I must look.',
            toolCalls: [{ name: 'weather', args: {} }],
            outputTokens: 20,
            reasoningTokens: 15,
          },
          {
            ...responseForm,
            reasoning: ' Seven is cold.',
            text: 'No.',
            outputTokens: 20,
            reasoningTokens: 15,
          },
        ],
        { model, reasoningEffort: 'high', tools: [{ type: 'weather' }] },
      );
      expect(result).toMatchObject({
        status: 'completed',
        output: { content: 'No.', tokens: { output: 40, reasoning: reasoningTokens } },
      });
      expect(thinkingText).toBe('I must look. Seven is cold.');
      expect(JSON.stringify(requestBodies[0])).toMatch(effortPattern);
      if (reasoningPattern) expect(JSON.stringify(requestBodies[1])).toMatch(reasoningPattern);
    },
  );
});

describe('the reasoning effort of a block', () => {
  it.each([
    ['is not sent to a model that is not known to reason', 'local/scripted', { reasoningEffort: 'high' }],
    ['is not sent if it is auto', 'gpt-5.2', { reasoningEffort: 'auto' }],
  ])('%s', async (_, model, fields) => {
    const { requestBodies } = await ask([{ text: 'No.' }], { model, ...fields });
    expect(JSON.stringify(requestBodies[0])).not.toMatch(/reasoning|effort/);
  });

  it('can be set as thinkingLevel, and max is the highest effort of the provider', async () => {
    const { requestBodies } = await ask([{ text: 'No.' }], { model: 'gpt-5.2', thinkingLevel: 'max' });
    expect(requestBodies[0]).toMatchObject({ reasoning: { effort: 'xhigh' } });
  });
});

it('the verbosity of a block is sent to models of OpenAI', async () => {
  for (const [model, text] of [
    ['gpt-5.2', { verbosity: 'low' }],
    ['claude-sonnet-4-5', undefined],
  ] as const) {
    const { requestBodies } = await ask([{ text: 'No.' }], { model, verbosity: 'low' });
    expect(requestBodies[0]?.['text']).toEqual(text);
  }
});
