import { blocks } from '@heddle/blocks';
import type { AgentTool } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

const CLAUDE = 'claude-sonnet-4-5';
const NOVA = 'bedrock/amazon.nova-lite-v1:0';
const TITAN = 'bedrock/amazon.titan-text-lite-v1';
const TOOLS = [{ type: 'weather' }];
const MESSAGES = [
  { role: 'system', content: 'You report the weather.' },
  { role: 'user', content: 'How is it in Oslo?' },
];

const weatherTool: AgentTool = {
  id: 'weather',
  description: 'Returns the weather.',
  parameters: { type: 'object', properties: {} },
  run: async () => 'Rain.',
};

/** Runs an agent, which calls a tool once if it has one. Returns its result, and the requests to the model. */
async function runAgent(fields: JsonObject) {
  const hasTools = fields['tools'] !== undefined;
  const server = await startModelServer(({ number }) =>
    hasTools && number === 1 ? { toolCalls: [{ name: 'weather', args: {} }] } : { text: 'Rain.' },
  );
  onTestFinished(() => server.close());
  const engine = await createEngine({
    blocks: blocks({ tools: [weatherTool] }),
    services: server.services,
    credentials: { anthropic: 'a', bedrock: 'b', openai: 'c' },
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const agent = block('A', 'agent', { messages: MESSAGES, ...fields });
  const result = await engine.execute({ workflow: workflow([agent], ['Start -> A']) });
  return { result, requestBodies: server.requests.map(({ body }) => body) };
}

async function captureRequestBodies(fields: JsonObject): Promise<JsonObject[]> {
  const { result, requestBodies } = await runAgent(fields);
  expect(result).toMatchObject({ status: 'completed' });
  return requestBodies;
}

/** Returns the path of each part of a request that is marked for the cache. */
function findCacheMarkers(value: unknown, path = ''): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const ownPath = 'cache_control' in value || 'cachePoint' in value ? [path] : [];
  return [
    ...ownPath,
    ...Object.entries(value).flatMap(([key, part]) => findCacheMarkers(part, `${path}/${key}`)),
  ];
}

describe('the prompt cache of a provider', () => {
  it('contains the instructions and each round of an agent with tools', async () => {
    const requestBodies = await captureRequestBodies({ model: CLAUDE, tools: TOOLS });
    expect(requestBodies.map((request) => findCacheMarkers(request))).toEqual([
      ['/system/0', '/messages/0/content/0'],
      ['/system/0', '/messages/2/content/0'],
    ]);
  });

  it('is marked by a part after the text on Bedrock, for models that support it', async () => {
    const [request] = await captureRequestBodies({ model: NOVA, tools: TOOLS });
    expect(findCacheMarkers(request)).toEqual(['/system/1', '/messages/0/content/1']);
    const [titanRequest] = await captureRequestBodies({ model: TITAN, promptCaching: true });
    expect(findCacheMarkers(titanRequest)).toEqual([]);
  });

  it('is not used by an agent that calls the model once, unless its author enables it', async () => {
    const [request] = await captureRequestBodies({ model: CLAUDE });
    expect(findCacheMarkers(request)).toEqual([]);
    const [enabledRequest] = await captureRequestBodies({ model: CLAUDE, promptCaching: 'true' });
    expect(findCacheMarkers(enabledRequest)).toEqual(['/system/0', '/messages/0/content/0']);
  });

  it('is not used if the author switches it off', async () => {
    const [request] = await captureRequestBodies({ model: CLAUDE, tools: TOOLS, promptCaching: false });
    expect(findCacheMarkers(request)).toEqual([]);
  });

  it('cannot be set to a value that is neither true nor false', async () => {
    const { result, requestBodies } = await runAgent({ model: CLAUDE, promptCaching: 'maybe' });
    expect(result).toMatchObject({ status: 'failed', error: { code: 'BLOCK_CONFIG_INVALID' } });
    expect(requestBodies).toEqual([]);
  });

  it('is used in a conversation', async () => {
    const [request] = await captureRequestBodies({
      model: CLAUDE,
      memoryType: 'conversation',
      conversationId: 'c',
    });
    expect(findCacheMarkers(request)).toHaveLength(2);
  });
});
