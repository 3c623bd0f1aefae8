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
async function captureRequestBody(
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

const LOOSE_SCHEMA = { type: 'object', properties: { warm: { type: 'boolean' } } };
// Keys of stored objects are sorted.
const STRICT_SCHEMA = {
  additionalProperties: false,
  properties: LOOSE_SCHEMA.properties,
  required: ['warm'],
  type: 'object',
};

describe.each<[model: string, path: readonly string[], fields?: JsonObject]>([
  ['gpt-5.2', ['text', 'format']],
  ['azure/my-gpt', ['text', 'format']],
  ['azure/my-gpt', ['response_format', 'json_schema'], { azureApiVersion: '2024-10-21' }],
  ['openrouter/openai/gpt-5.2', ['response_format', 'json_schema']],
  ['local/scripted', ['response_format', 'json_schema']],
])('a response format for %s', (model, [outerKey = '', innerKey = ''], fields) => {
  it('is strict only if the provider can enforce the schema', async () => {
    for (const [schema, strict] of [
      [STRICT_SCHEMA, true],
      [LOOSE_SCHEMA, false],
    ] as const) {
      const body = await captureRequestBody(model, schema, fields);
      expect((body[outerKey] as JsonObject)[innerKey]).toMatchObject({ name: 'weather', strict, schema });
    }
  });
});

describe('a response format', () => {
  it.each<[model: string, expected: JsonObject]>([
    ['claude-sonnet-4-5', { output_config: { format: { type: 'json_schema', schema: STRICT_SCHEMA } } }],
    [
      'gemini-2.5-flash',
      { generationConfig: { responseMimeType: 'application/json', responseJsonSchema: STRICT_SCHEMA } },
    ],
    [
      'mistral/mistral-large-latest',
      { response_format: { json_schema: { name: 'weather', schema: STRICT_SCHEMA } } },
    ],
    [
      'bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0',
      { additionalModelRequestFields: { output_config: { format: { schema: STRICT_SCHEMA } } } },
    ],
  ])('is sent in the form that %s expects', async (model, expected) => {
    expect(await captureRequestBody(model, STRICT_SCHEMA)).toMatchObject(expected);
  });

  it.each(['groq/openai/gpt-oss-20b', 'groq/llama-3.3-70b-versatile', 'deepseek/deepseek-chat'])(
    'is an instruction in the prompt for %s, whose provider refuses schemas',
    async (model) => {
      const body = await captureRequestBody(model, STRICT_SCHEMA, { systemPrompt: 'Be brief.' });
      expect(body).not.toHaveProperty('response_format');
      expect(body['messages']).toMatchObject([
        {
          role: 'system',
          content: `Be brief.\n\nGive your answer as JSON that matches this schema, and nothing else: ${JSON.stringify(STRICT_SCHEMA)}`,
        },
        { role: 'user' },
      ]);
    },
  );
});
