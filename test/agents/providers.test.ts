import { blocks } from '@heddle/blocks';
import type { AgentTool } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import type { ModelResponse, ModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

interface ProviderCase {
  provider: 'mistral' | 'groq' | 'openrouter' | 'azure' | 'bedrock';
  model: string;
  path: string;
  /** The header with the key. */
  header: readonly [name: string, value: string];
  variant?: string;
  fields?: JsonObject;
  /** Default: 'secret-key'. */
  credential?: string | null;
}

const BEARER_HEADER = ['authorization', 'Bearer secret-key'] as const;
const CASES: readonly ProviderCase[] = [
  {
    provider: 'mistral',
    model: 'mistral/mistral-large-latest',
    path: '/mistral/v1/chat/completions',
    header: BEARER_HEADER,
  },
  {
    provider: 'groq',
    model: 'groq/llama-3.3-70b-versatile',
    path: '/groq/v1/chat/completions',
    header: BEARER_HEADER,
  },
  {
    provider: 'openrouter',
    model: 'openrouter/meta-llama/llama-3.3-70b-instruct',
    path: '/openrouter/v1/chat/completions',
    header: BEARER_HEADER,
  },
  {
    provider: 'azure',
    model: 'azure/my-gpt',
    path: '/openai/v1/responses',
    header: ['api-key', 'secret-key'],
  },
  {
    provider: 'azure',
    model: 'azure/my-gpt',
    variant: 'with a dated version',
    fields: { azureApiVersion: '2024-10-21' },
    path: '/openai/deployments/my-gpt/chat/completions?api-version=2024-10-21',
    header: ['api-key', 'secret-key'],
  },
  {
    provider: 'bedrock',
    model: 'bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0',
    path: '/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream',
    header: BEARER_HEADER,
  },
  {
    provider: 'bedrock',
    model: 'bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0',
    variant: 'with a pair of keys',
    credential: null,
    fields: {
      bedrockRegion: 'eu-central-1',
      bedrockAccessKeyId: 'AKIDEXAMPLE',
      bedrockSecretKey: 'secret-key',
    },
    path: '/model/anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream',
    header: ['authorization', 'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/'],
  },
];

const weatherTool: AgentTool = {
  id: 'weather',
  description: 'Returns the weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  run: async ({ city }) => ({ city: city ?? null, degrees: 7 }),
};

async function startModel(...responses: readonly ModelResponse[]): Promise<ModelServer> {
  const server = await startModelServer(
    ({ number }) => responses[Math.min(number, responses.length) - 1] ?? {},
  );
  onTestFinished(() => server.close());
  return server;
}

async function ask(
  server: ModelServer,
  { provider, credential = 'secret-key', ...testCase }: ProviderCase,
  agentFields: JsonObject = {},
) {
  const engine = await createEngine({
    blocks: blocks({ tools: [weatherTool] }),
    services: { [provider]: server.services[provider] },
    credentials: credential === null ? {} : { [provider]: credential },
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const fields = { messages: [{ role: 'user', content: 'Is it warm in Oslo?' }], model: testCase.model };
  const agent = block('A', 'agent', { ...fields, ...testCase.fields, ...agentFields });
  return engine.execute({ workflow: workflow([agent], ['Start -> A']) }, {});
}

describe.each(
  CASES.map((testCase) => [`${testCase.provider} ${testCase.variant ?? ''}`.trim(), testCase] as const),
)('an agent with %s', (_, testCase) => {
  it('sends its key, gives the model the result of a tool, and adds the tokens of both calls', async () => {
    const server = await startModel(
      { toolCalls: [{ name: 'weather', args: { city: 'Oslo' } }], inputTokens: 20, outputTokens: 5 },
      { chunks: ['It is', ' cold.'], inputTokens: 30, outputTokens: 7 },
    );
    const result = await ask(server, testCase, { tools: [{ type: 'weather' }] });
    expect(result).toMatchObject({
      status: 'completed',
      output: {
        content: 'It is cold.',
        tokens: { input: 50, output: 12, total: 62 },
        toolCalls: { count: 1, list: [{ name: 'weather', result: { city: 'Oslo', degrees: 7 } }] },
      },
    });
    expect(server.requests.map(({ path }) => path)).toEqual([testCase.path, testCase.path]);
    const [name, value] = testCase.header;
    for (const { headers } of server.requests) expect(headers[name]).toContain(value);
    expect(JSON.stringify(server.requests[1]?.body)).toMatch(/degrees\\*":7/);
    expect(JSON.stringify(result)).not.toContain('secret-key');
  });

  it('requests a response format and reads the answer', async () => {
    const server = await startModel({ text: '{"warm":false}' });
    const properties = { warm: { type: 'boolean' } };
    const schema = { type: 'object', properties, required: ['warm'], additionalProperties: false };
    const result = await ask(server, testCase, { responseFormat: { name: 'weather', schema } });
    expect(result).toMatchObject({ status: 'completed', output: { warm: false } });
    expect(JSON.stringify(server.requests[0]?.body)).toContain('warm');
  });

  it('fails with the message of the provider, without the key', async () => {
    const server = await startModel({ status: 400, message: 'No such model for secret-key.' });
    const result = await ask(server, testCase);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_REFUSED' } });
    expect(result.error?.message).toContain('No such model');
    expect(JSON.stringify(result)).not.toContain('secret-key');
  });
});
