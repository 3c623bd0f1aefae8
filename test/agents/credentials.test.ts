import { blocks } from '@heddle/blocks';
import type { AgentTool, BlocksOptions } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions, TenantCredentials } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import type { ModelResponse, ModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

/** Starts a model that gives these responses in order; the last response repeats. */
async function startModel(responses: readonly ModelResponse[]): Promise<ModelServer> {
  const server = await startModelServer(
    ({ number }) => responses[Math.min(number, responses.length) - 1] as ModelResponse,
  );
  onTestFinished(() => server.close());
  return server;
}

interface AgentOptions {
  fields?: JsonObject;
  options?: BlocksOptions;
  engine?: EngineOptions;
}

/** Runs an agent with these fields. */
async function ask(server: ModelServer, { fields = {}, options, engine: engineOptions }: AgentOptions) {
  const credentials = { openai: 'key-of-openai' };
  const { services } = server;
  const engine = await createEngine({ blocks: blocks(options), services, credentials, ...engineOptions });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const messages = [{ role: 'user', content: 'What is the weather?' }];
  const agent = block('A', 'agent', { messages, model: 'gpt-4o', ...fields });
  return engine.execute({ workflow: workflow([agent], ['Start -> A']) });
}

describe('the key of a provider', () => {
  const authorizationHeaderOf = (server: ModelServer): string | undefined =>
    server.requests[0]?.headers.authorization;

  /** Every tenant stores a key for every provider. */
  const credentialsOfAllProviders: TenantCredentials = {
    find: (_tenant, query) =>
      'provider' in query && query.type === 'api_key'
        ? { id: 'c1', name: 'Ours', secret: 'key-of-the-workspace', ...query }
        : undefined,
  };

  it('is taken from the operator, else the block, else the workspace, else the environment variable', async () => {
    const fields = { apiKey: '{{KEY}}' };
    const options = { variables: { OPENAI_API_KEY: 'key-of-the-variable' } };
    const env = { KEY: 'key-of-the-block' };
    const authorizationHeaders: (string | undefined)[] = [];
    for (const agentOptions of [
      { fields, options, engine: { env } },
      { fields, options, engine: { env, credentials: {}, tenantCredentials: credentialsOfAllProviders } },
      { options, engine: { credentials: {}, tenantCredentials: credentialsOfAllProviders } },
      { options, engine: { credentials: {} } },
    ]) {
      const server = await startModel([{ text: 'Rain.' }]);
      expect(await ask(server, agentOptions)).toMatchObject({ status: 'completed' });
      authorizationHeaders.push(authorizationHeaderOf(server));
    }
    expect(authorizationHeaders).toEqual([
      'Bearer key-of-openai',
      'Bearer key-of-the-block',
      'Bearer key-of-the-workspace',
      'Bearer key-of-the-variable',
    ]);
  });

  it('is not sent to a base URL that the block sets if it is the key of the operator or of the workspace', async () => {
    const server = await startModel([{ text: 'Rain.' }]);
    const fields = { model: 'azure/mine', azureEndpoint: server.services.openai };
    const engine = {
      credentials: { azure: 'key-of-the-operator' },
      tenantCredentials: credentialsOfAllProviders,
      services: {},
      egress: { exceptions: [new URL(server.services.openai).host] },
    };
    const refusedResult = await ask(server, {
      fields,
      engine,
      options: { variables: { AZURE_API_KEY: 'key' } },
    });
    expect(refusedResult).toMatchObject({ status: 'failed', error: { code: 'MODEL_KEY_MISSING' } });
    expect(server.requests).toEqual([]);
    const resultWithOwnKey = await ask(server, { fields: { ...fields, apiKey: 'mine' }, engine });
    expect(resultWithOwnKey).toMatchObject({ status: 'completed', output: { content: 'Rain.' } });
    expect(JSON.stringify(server.requests[0]?.headers)).not.toMatch(/key-of-the-(?:operator|workspace)/);
  });
});

describe('a tool with a stored credential', () => {
  const shopTool: AgentTool = {
    id: 'shop',
    description: 'Lists the orders.',
    parameters: { type: 'object', properties: {} },
    async run(_args, call) {
      const { secret, account } = await call.credential();
      return { account: account ?? null, sent: `Bearer ${secret}` };
    },
  };
  const tenantCredentials: TenantCredentials = {
    find: (_tenant, query) =>
      'id' in query && query.id === 'c1'
        ? { id: 'c1', name: 'Shop', type: 'oauth', provider: 'shop', secret: 'at-1234567', account: 'me' }
        : undefined,
  };
  const callShop = async (params: JsonObject) => {
    const server = await startModel([{ toolCalls: [{ name: 'shop', args: {} }] }, { text: 'Done.' }]);
    const fields = { tools: [{ type: 'shop', params }] };
    const result = await ask(server, {
      fields,
      options: { tools: [shopTool] },
      engine: { tenantCredentials },
    });
    const { list } = (result.output as { toolCalls: { list: { result: unknown }[] } }).toolCalls;
    return { result: list[0]?.result, requestsText: JSON.stringify(server.requests.map(({ body }) => body)) };
  };

  it('gets the credential by the id in its parameters, and neither the model nor the run sees the secret', async () => {
    const { result, requestsText } = await callShop({ credential: 'c1' });
    expect(result).toEqual({ account: 'me', sent: 'Bearer «redacted:Shop»' });
    expect(requestsText).toContain('«redacted:Shop»');
    expect(requestsText).not.toContain('at-1234567');
  });

  it('fails without a credential, or with an unknown credential', async () => {
    expect((await callShop({})).result).toMatch(/^The tool has no credential/);
    for (const credential of ['c2', 7])
      expect((await callShop({ credential })).result).toMatch(/^The tool names a credential that does not/);
  });
});

describe('a credential block', () => {
  const tenantCredentials: TenantCredentials = {
    find: (_tenant, query) =>
      'id' in query && query.id === 'c1'
        ? { id: 'c1', name: 'Shop', type: 'oauth', provider: 'shop', secret: 'at-1234567', account: 'me' }
        : undefined,
  };
  const shopTool: AgentTool = {
    id: 'shop',
    description: 'Lists the orders.',
    parameters: { type: 'object', properties: {} },
    run: async (_args, call) => ({ length: (await call.credential()).secret.length }),
  };
  const run = async (fields: JsonObject) => {
    const server = await startModel([{ toolCalls: [{ name: 'shop', args: {} }] }, { text: 'Done.' }]);
    const engine = await createEngine({
      blocks: blocks({ tools: [shopTool] }),
      services: server.services,
      credentials: { openai: 'key-of-openai' },
      tenantCredentials,
    });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const agent = block('A', 'agent', {
      messages: [{ role: 'user', content: 'Orders?' }],
      model: 'gpt-4o',
      tools: [{ type: 'shop', params: { credential: '<C.credentialId>' } }],
    });
    const definition = workflow([block('C', 'credential', fields), agent], ['Start -> C -> A']);
    const { runId, ...result } = await engine.execute({ workflow: definition });
    return { result, logs: await engine.getLogs(runId) };
  };

  it('selects a stored credential for tools of later blocks, and outputs no secret', async () => {
    const { result, logs } = await run({ operation: 'select', credentialId: 'c1' });
    expect(result).toMatchObject({ output: { toolCalls: { list: [{ result: { length: 10 } }] } } });
    expect(logs.find(({ blockName }) => blockName === 'C')?.output).toEqual({
      credentialId: 'c1',
      displayName: 'Shop',
      providerId: 'shop',
      type: 'oauth',
    });
    expect(JSON.stringify(logs)).not.toContain('at-1234567');
  });

  it('fails without a credential, and for an unknown credential or operation', async () => {
    const errorCodeOf = async (fields: JsonObject) => (await run(fields)).result.error?.code;
    expect(await errorCodeOf({ credentialId: 'c2' })).toBe('CREDENTIAL_UNKNOWN');
    expect(await errorCodeOf({})).toBe('CREDENTIAL_UNKNOWN');
    expect(await errorCodeOf({ operation: 'list' })).toBe('BLOCK_CONFIG_INVALID');
  });
});
