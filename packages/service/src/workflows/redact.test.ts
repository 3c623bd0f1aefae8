import { describe, expect, it } from 'vitest';
import { createTestApi } from '../../../../test/support/api.ts';
import { block, workflow } from '../../../../test/support/workflow.ts';
import { redactCredentials } from './redact.ts';

const SECRET = 'sk-live-1234';

/** Returns the value of the sub-block as a version shows it. */
function redactedValue(id: string, value: unknown, type = 'short-input'): unknown {
  const graph = { blocks: { b: { subBlocks: { [id]: { id, type, value } } } } };
  const { blocks } = redactCredentials({
    ...{ edges: [], loops: {}, parallels: {}, variables: {} },
    ...(graph as never as object),
  } as never);
  return (blocks as typeof graph.blocks)['b']?.subBlocks[id]?.value;
}

describe('a graph without credentials', () => {
  it.each([
    ...['apiKey', 'api_key', 'API-KEY', 'password', 'dbPassword', 'accessToken', 'token', 'botToken'],
    ...['credential', 'credentials', 'clientSecret', 'privateKey', 'authorization', 'connectionString'],
  ])('has null in the sub-block %s', (id) => {
    expect(redactedValue(id, SECRET)).toBeNull();
  });

  it.each(['maxTokens', 'url', 'code', 'key', 'prompt', 'tokenLimit'])('keeps the sub-block %s', (id) => {
    expect(redactedValue(id, 'value')).toBe('value');
  });

  it('has null for sub-blocks of credential types', () => {
    expect(redactedValue('account', 'cred_1', 'oauth-input')).toBeNull();
  });

  it.each(['{{API_KEY}}', ' {{API_KEY}} ', '<start.key>', 'Bearer {{TOKEN}}'])(
    'keeps %j, which only refers to a secret',
    (value) => {
      expect(redactedValue('apiKey', value)).toBe(value);
    },
  );

  it.each([
    [
      [{ id: 'r', cells: { Key: 'Authorization', Value: `Bearer ${SECRET}` } }],
      [{ id: 'r', cells: { Key: 'Authorization', Value: null } }],
    ],
    [
      { 'X-Api-Key': SECRET, Accept: 'a' },
      { 'X-Api-Key': null, Accept: 'a' },
    ],
    [
      [{ type: 'http', params: { apiKey: SECRET, url: 'u' } }],
      [{ type: 'http', params: { apiKey: null, url: 'u' } }],
    ],
    [
      [{ name: 'password', type: 'string', value: SECRET }],
      [{ name: 'password', type: 'string', value: null }],
    ],
    [`{"Cookie": "${SECRET}", "a": 1}`, '{"Cookie":null,"a":1}'],
    ['{"a":  1}', '{"a":  1}'],
    ['[not json', '[not json'],
  ])('is redacted inside values: %j', (value, expected) => {
    expect(redactedValue('headers', value)).toEqual(expected);
  });

  it('has null in place of values deeper than the maximum depth', () => {
    let deepValue: unknown = SECRET;
    for (let depth = 0; depth < 1000; depth += 1) deepValue = [deepValue];
    expect(JSON.stringify(redactedValue('params', deepValue))).not.toContain(SECRET);
  });
});

it('a version is shown without credentials and runs with them', async () => {
  const api = await createTestApi();
  const reply = block('Reply', 'response', {
    dataMode: 'json',
    data: '{"a": 1}',
    headers: [{ id: 'r', cells: { Key: 'X-Api-Key', Value: SECRET } }],
    password: SECRET,
  });
  const variables = { v: { id: 'v', name: 'secretWord', type: 'string', value: SECRET } };
  const id = await api.deploy(workflow([reply], ['Start -> Reply']));
  const path = `/api/v2/workflows/${id}`;
  const draft = await api.call<object>('GET', `${path}/state`);
  expect(JSON.stringify(draft.body)).toContain(SECRET);
  await api.call('PUT', `${path}/state`, { body: { ...draft.data, variables } });
  await api.call('POST', `${path}/deploy`);
  const version = await api.call('GET', `${path}/versions/2`);
  expect(version.status).toBe(200);
  expect(JSON.stringify(version.body)).not.toContain(SECRET);
  await api.call('POST', `${path}/versions/2/activate`);
  expect(await api.call('POST', `${path}/execute`, { body: {} })).toMatchObject({
    data: { output: { headers: { 'X-Api-Key': SECRET } } },
  });
});
