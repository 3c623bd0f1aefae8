import { blocks } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';
import { startServices } from './services.ts';
import type { Services } from './services.ts';

async function startServicesForTest(): Promise<Services> {
  const services = await startServices();
  onTestFinished(() => services.close());
  return services;
}

/** Runs one block of an integration. */
async function run(
  { baseUrls }: Services,
  [type, fields]: readonly [string, JsonObject],
  { input = {}, ...options }: EngineOptions & { input?: JsonObject } = {},
) {
  const engine = await createEngine({
    blocks: blocks(),
    services: baseUrls,
    credentials: Object.fromEntries(Object.keys(baseUrls).map((name) => [name, `token-of-${name}`])),
    ...options,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine.execute({ workflow: workflow([block('A', type, fields)], ['Start -> A']) }, input);
}

const SEND_FIELDS = { operation: 'send', channel: 'C0123456789', text: 'Hello' };

describe('an integration block', () => {
  it('sends its fields, and returns the response of the service', async () => {
    const services = await startServicesForTest();
    const result = await run(services, ['slack', SEND_FIELDS]);
    expect(result).toMatchObject({
      status: 'completed',
      output: { channel: 'C0123456789', message: { text: 'Hello' } },
    });
    expect(services.requests.map(({ path, body }) => [path, body])).toEqual([
      ['/chat.postMessage', { channel: 'C0123456789', text: 'Hello' }],
    ]);
  });

  it('accepts the alternative field of a pair', async () => {
    const result = await run(await startServicesForTest(), [
      'slack',
      { ...SEND_FIELDS, channel: null, manualChannel: 'C0123456789' },
    ]);
    expect(result).toMatchObject({ status: 'completed' });
  });

  it('collects the pages of a list', async () => {
    const services = await startServicesForTest();
    const result = await run(services, ['slack', { operation: 'list_channels', channelLimit: '2' }]);
    expect((result.output as { channels: object[] }).channels).toHaveLength(3);
    expect(services.requests.map(({ query }) => query.get('cursor'))).toEqual([null, 'Mg==']);
  });

  it.each([
    ['slack', SEND_FIELDS, 'slack'],
    ['google_calendar_v2', { operation: 'list' }, 'google_calendar'],
  ] as const)('waits for the time that a service sets in a rate limit: %s', async (type, fields, name) => {
    const services = await startServicesForTest();
    services.rateLimitNext(name, 1);
    const clock = new TestClock();
    const resultPromise = run(services, [type, fields], { clock });
    await clock.waitForTimer(1000);
    expect(services.requests).toHaveLength(1);
    clock.advance(1000);
    expect(await resultPromise).toMatchObject({ status: 'completed' });
    expect(services.requests.length).toBeGreaterThan(1);
  });

  it.each<[string, string, JsonObject, string, RegExp]>([
    [
      'lacks a required field',
      'slack',
      { ...SEND_FIELDS, channel: '' },
      'BLOCK_CONFIG_INVALID',
      /missing required fields: channel/,
    ],
    [
      'has two values for one argument',
      'slack',
      { ...SEND_FIELDS, manualChannel: 'C2' },
      'BLOCK_CONFIG_INVALID',
      /"channel" and in "manualChannel"/,
    ],
    [
      'has an unknown operation',
      'slack',
      { ...SEND_FIELDS, operation: 'fax' },
      'BLOCK_CONFIG_INVALID',
      /the operation "fax".*use send/,
    ],
    [
      'has a field of the wrong type',
      'slack',
      { operation: 'list_channels', channelLimit: 'many' },
      'TOOL_ARGUMENTS_INVALID',
      /limit/,
    ],
    [
      'gets an error with status 200',
      'slack',
      { ...SEND_FIELDS, channel: 'C9' },
      'HTTP_FAILED',
      /responded with 200: channel_not_found/,
    ],
    [
      'gets a GraphQL error',
      'linear',
      { operation: 'linear_create_issue', teamId: 't', title: 'x' },
      'HTTP_FAILED',
      /Entity not found: Team/,
    ],
    [
      'names a missing resource',
      'google_sheets_v2',
      { operation: 'append', spreadsheetId: 'x', sheetName: 'S', values: '[[1]]' },
      'HTTP_FAILED',
      /404: Requested entity was not found/,
    ],
    [
      'has a line break in a header of a message',
      'gmail_v2',
      { operation: 'send_gmail', to: 'a@b.c\r\nBcc: d@e.f', body: 'x' },
      'TOOL_ARGUMENTS_INVALID',
      /"to" contains a line break/,
    ],
  ])('fails with a clear message if it %s', async (...[, type, fields, code, message]) => {
    const result = await run(await startServicesForTest(), [type, fields]);
    expect(result).toMatchObject({ status: 'failed', error: { code } });
    expect(result.error?.message).toMatch(message);
  });

  it('without a credential fails with a message that names the option that sets one', async () => {
    const result = await run(await startServicesForTest(), ['slack', SEND_FIELDS], { credentials: {} });
    expect(result.error).toMatchObject({ code: 'CREDENTIAL_UNKNOWN' });
    expect(result.error?.message).toContain('--credential slack=VALUE');
  });

  it('names the service that rejects the credential, without the credential', async () => {
    const credentials = { gmail: 'wrong-token' };
    const fields = { operation: 'send_gmail', to: 'a@example.com', body: 'x' };
    const result = await run(await startServicesForTest(), ['gmail_v2', fields], { credentials });
    expect(result.error?.message).toMatch(
      /responded with 401: .*the service "gmail" does not accept the credential/,
    );
    expect(JSON.stringify(result)).not.toContain('wrong-token');
  });

  it('writes each value into one cell, whatever it contains', async () => {
    const services = await startServicesForTest();
    const fields = {
      operation: 'append',
      spreadsheetId: 'sheet-1',
      sheetName: 'Leads',
      values: '[["<start.name>", "<start.tags>"]]',
    };
    const input = { name: 'x"],["y', tags: ['a'] };
    expect(await run(services, ['google_sheets_v2', fields], { input })).toMatchObject({
      status: 'completed',
    });
    expect(services.requests[0]?.body).toMatchObject({ values: [['x"],["y', '["a"]']] });
  });

  it('encodes text in all languages in messages', async () => {
    const services = await startServicesForTest();
    const fields = {
      operation: 'send_gmail',
      to: 'Zoë <zoe@example.com>',
      subject: 'Größe 🧵',
      body: 'Grüße',
    };
    expect(await run(services, ['gmail_v2', fields])).toMatchObject({ status: 'completed' });
    const message = Buffer.from(services.requests[0]?.body['raw'] as string, 'base64url').toString();
    expect(message).toContain(`Subject: =?UTF-8?B?${Buffer.from('Größe 🧵').toString('base64')}?=`);
    expect(message).toMatch(/^To: =\?UTF-8\?B\?[\w=+/]+\?= <zoe@example\.com>\r$/m);
    expect(message).toContain(Buffer.from('Grüße').toString('base64'));
  });

  it('sends a message to each recipient of a list, including one with a comma in the quoted name', async () => {
    const services = await startServicesForTest();
    const to = '"Lovelace, \\"Ada\\"" <ada@example.com>, , bob@example.com,"Zoë, X" <zoe@example.com>';
    const fields = { operation: 'send_gmail', to, subject: 'x', body: 'x' };
    expect(await run(services, ['gmail_v2', fields])).toMatchObject({ status: 'completed' });
    const message = Buffer.from(services.requests[0]?.body['raw'] as string, 'base64url').toString();
    const name = Buffer.from('Zoë, X').toString('base64');
    expect(message).toContain(
      `To: "Lovelace, \\"Ada\\"" <ada@example.com>, bob@example.com, =?UTF-8?B?${name}?= <zoe@example.com>\r\n`,
    );
  });

  it('writes a paragraph that is longer than Notion accepts as several paragraphs', async () => {
    const services = await startServicesForTest();
    const content = `${'a'.repeat(200_000)}${'b'.repeat(5)}\n\nend`;
    const fields = { operation: 'notion_create_page', parentId: 'page', title: 'T', content };
    await run(services, ['notion_v2', fields]);
    const children = services.requests[0]?.body['children'] as {
      paragraph: { rich_text: { text: { content: string } }[] };
    }[];
    const texts = children.map(({ paragraph }) =>
      paragraph.rich_text.map(({ text }) => text.content).join(''),
    );
    expect(texts).toEqual(['a'.repeat(200_000), 'bbbbb', 'end']);
  });

  it('does not follow a redirect of the service to a private address', async () => {
    const [services, internal] = await Promise.all([startServicesForTest(), startServicesForTest()]);
    services.redirect('slack', `${internal.baseUrls['slack']}/chat.postMessage`);
    const result = await run(services, ['slack', SEND_FIELDS]);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'HTTP_FAILED' } });
    expect(services.requests).toHaveLength(1);
    expect(internal.requests).toEqual([]);
  });
});

describe('arguments of a model', () => {
  /** Runs an agent whose model calls this tool with these arguments. */
  async function runAgent(
    services: Services,
    tool: JsonObject,
    call: { name: string; args: JsonObject },
    input: JsonObject = {},
  ) {
    const modelServer = await startModelServer(({ number }) =>
      number === 1 ? { toolCalls: [call] } : { text: 'Done.' },
    );
    onTestFinished(() => modelServer.close());
    const messages = [{ role: 'user', content: 'Go.' }];
    const credentials = Object.keys(services.baseUrls).map((name) => [name, `token-of-${name}`]);
    const result = await run(
      { ...services, baseUrls: { ...modelServer.services, ...services.baseUrls } },
      ['agent', { messages, model: 'gpt-4o', tools: [tool] }],
      { credentials: { ...Object.fromEntries(credentials), openai: 'key' }, input },
    );
    return { result, calls: (result.output as { toolCalls: { list: JsonObject[] } }).toolCalls.list };
  }

  it.each<[string, JsonObject]>([
    ['another credential', { credential: 'cred-of-another-workspace' }],
    ['a key', { apiKey: 'stolen', botToken: 'stolen' }],
    ['a base URL', { url: 'http://169.254.169.254/', baseUrl: 'http://127.0.0.1/', host: '127.0.0.1' }],
    ['a header', { headers: { authorization: 'Bearer stolen' } }],
  ])('cannot set %s', async (_title, extraArgs) => {
    const services = await startServicesForTest();
    const { calls } = await runAgent(
      services,
      { type: 'slack', operation: 'send' },
      {
        name: 'slack_message',
        args: { channel: 'C0123456789', text: 'x', ...extraArgs },
      },
    );
    expect(calls).toMatchObject([{ success: false }]);
    expect(services.requests).toEqual([]);
  });

  it('and values of the input cannot change the structure of fields that the author has set', async () => {
    const services = await startServicesForTest();
    const params = {
      spreadsheetId: 'sheet-1',
      sheetName: 'Leads',
      values: '[["<start.name>"]]',
    };
    const tool = { type: 'google_sheets_v2', operation: 'append', params };
    const call = { name: 'google_sheets_append', args: {} };
    await runAgent(services, tool, call, { name: 'x"],["y' });
    expect(services.requests.map(({ body }) => body['values'])).toEqual([[['x"],["y']]]);
  });

  it('cannot replace fields that the author has set', async () => {
    const services = await startServicesForTest();
    const tool = { type: 'slack', operation: 'send', params: { channel: 'C0123456789' } };
    const call = { name: 'slack_message', args: { channel: 'C0000000002', text: 'x' } };
    await runAgent(services, tool, call);
    expect(services.requests.map(({ body }) => body['channel'])).not.toContain('C0000000002');
  });

  it.each(['../../../user', '..', 'a/../../x', 'x?admin=1', 'x#y', '%2e%2e', 'a\\..\\..\\b'])(
    'cannot leave the path of the operation: %s',
    async (baseId) => {
      const services = await startServicesForTest();
      const tool = { type: 'airtable', operation: 'list' };
      await runAgent(services, tool, {
        name: 'airtable_list_records',
        args: { baseId, tableId: 'Feedback' },
      });
      for (const { path, query } of services.requests) {
        expect(path.startsWith('/v0/')).toBe(true);
        expect(path.endsWith('/Feedback')).toBe(true);
        expect(query.has('admin')).toBe(false);
      }
    },
  );

  it.each<[string, JsonObject[string]]>([
    ['a path of the file system', '/etc/passwd'],
    ['a file URL', 'file:///etc/passwd'],
    [
      'a file that does not exist',
      {
        id: 'f',
        key: '../../etc/passwd',
        name: 'x',
        type: 'application/pdf',
        size: 1,
        url: 'file:///etc/passwd',
      },
    ],
  ])('cannot read %s', async (_title, fileReference) => {
    const services = await startServicesForTest();
    const tool = { type: 'mistral_parse_v3', toolId: 'mistral_parser_v3' };
    const { calls } = await runAgent(services, tool, { name: 'mistral_parser_v3', args: { fileReference } });
    expect(calls).toMatchObject([{ success: false }]);
    expect(services.requests).toEqual([]);
  });
});
