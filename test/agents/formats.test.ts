import { blocks } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

const PROVIDERS = [
  'openai',
  'anthropic',
  'google',
  'mistral',
  'groq',
  'openrouter',
  'azure',
  'bedrock',
  'deepseek',
];

/** Returns the body of the only model request of an agent with this response format. */
async function requestBodyOf(
  model: string,
  schema: JsonObject,
  fields: JsonObject = {},
): Promise<JsonObject> {
  const server = await startModelServer(() => ({ text: '```json\n{"warm":true}\n```' }));
  onTestFinished(() => server.close());
  const engine = await createEngine({
    blocks: blocks(),
    // DeepSeek has the interface of `local`.
    services: { ...server.services, deepseek: server.services.local },
    credentials: Object.fromEntries(PROVIDERS.map((name) => [name, 'key'])),
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const messages = [{ role: 'user', content: 'Is it warm?' }];
  const responseFormat = { name: 'weather', schema };
  const agent = block('A', 'agent', { messages, model, responseFormat, ...fields });
  const result = await engine.execute({ workflow: workflow([agent], ['Start -> A']) }, {});
  expect(result).toMatchObject({ status: 'completed', output: { warm: true } });
  expect(server.requests).toHaveLength(1);
  return server.requests[0]?.body ?? {};
}

const LOOSE = { type: 'object', properties: { warm: { type: 'boolean' } } };
// Keys of stored objects are sorted.
const STRICT = {
  additionalProperties: false,
  properties: LOOSE.properties,
  required: ['warm'],
  type: 'object',
};

describe.each<[model: string, path: readonly string[], fields?: JsonObject]>([
  ['gpt-5.2', ['text', 'format']],
  ['azure/my-gpt', ['text', 'format']],
  ['azure/my-gpt', ['response_format', 'json_schema'], { azureApiVersion: '2024-10-21' }],
  ['openrouter/openai/gpt-5.2', ['response_format', 'json_schema']],
  ['local/scripted', ['response_format', 'json_schema']],
])('a response format for %s', (model, [first = '', second = ''], fields) => {
  it('is strict only if the provider can enforce the schema', async () => {
    for (const [schema, strict] of [
      [STRICT, true],
      [LOOSE, false],
    ] as const) {
      const request = await requestBodyOf(model, schema, fields);
      expect((request[first] as JsonObject)[second]).toMatchObject({ name: 'weather', strict, schema });
    }
  });
});

describe('a response format', () => {
  it.each<[model: string, expected: JsonObject]>([
    ['claude-sonnet-4-5', { output_config: { format: { type: 'json_schema', schema: STRICT } } }],
    [
      'gemini-2.5-flash',
      { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: STRICT } },
    ],
    [
      'mistral/mistral-large-latest',
      { response_format: { json_schema: { name: 'weather', schema: STRICT } } },
    ],
    [
      'bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0',
      { additionalModelRequestFields: { output_config: { format: { schema: STRICT } } } },
    ],
  ])('is sent in the form that %s expects', async (model, expected) => {
    expect(await requestBodyOf(model, STRICT)).toMatchObject(expected);
  });

  it.each(['groq/openai/gpt-oss-20b', 'groq/llama-3.3-70b-versatile', 'deepseek/deepseek-chat'])(
    'is an instruction in the prompt for %s, whose provider refuses schemas',
    async (model) => {
      const request = await requestBodyOf(model, STRICT, { systemPrompt: 'Be brief.' });
      expect(request).not.toHaveProperty('response_format');
      expect(request['messages']).toMatchObject([
        {
          role: 'system',
          content: `Be brief.\n\nGive your answer as JSON that matches this schema, and nothing else: ${JSON.stringify(STRICT)}`,
        },
        { role: 'user' },
      ]);
    },
  );
});
