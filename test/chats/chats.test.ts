import type { BlockExecutor } from '@heddle/core/blocks';
import type { Json } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { draftOf, errorIn, createTestApi } from '../support/api.ts';
import { block, fn, workflow } from '../support/workflow.ts';

/** Resolved when the test has received the response. */
const gate = Promise.withResolvers<undefined>();
/** Emits its answer in two chunks, after `gate` has resolved. */
const talker: BlockExecutor = {
  types: ['talker'],
  class: 'effect',
  execute: async (context) => {
    await gate.promise;
    context.emit({ type: 'text', text: 'Hello ' });
    context.emit({ type: 'text', text: 'Ada.' });
    return { output: { content: 'Hello Ada.' } };
  },
};

const now = { ms: Date.parse('2026-01-01T00:00:00Z') };
const api = await createTestApi({
  now: () => now.ms,
  engineOptions: { blocks: [talker] },
});
const { call, fetch, deploy, engine } = api;

const startBlock = (inputFormat: Json = []): Json =>
  block('Start', 'start_trigger', { inputFormat }) as never;
const workflowOf = (code = 'return {input: <start.input>, conversation: <start.conversationId>}'): Json =>
  workflow([startBlock() as never, fn('F', code)], ['Start -> F']);

let pageCount = 0;
/** Deploys the workflow with a chat. Returns the id of the workflow and the identifier of the chat. */
async function deployPages(
  exportedWorkflow: Json,
  options: { [name: string]: unknown } = {},
): Promise<{ id: string; name: string }> {
  const id = await deploy(exportedWorkflow);
  const name = `page-${++pageCount}`;
  const body = { identifier: name, title: 'Ask <us>', ...options };
  const response = await call('PUT', `/api/v2/workflows/${id}/deployments/chat`, { body });
  expect(response.status, JSON.stringify(response.body)).toBe(200);
  return { id, name };
}

interface VisitOptions {
  body?: unknown;
  headers?: { [name: string]: string };
}

const visit = (path: string, { body, headers }: VisitOptions = {}): Promise<Response> =>
  fetch(body === undefined ? 'GET' : 'POST', path, {
    key: null,
    ...(body !== undefined && { body }),
    ...(headers && { headers }),
  });

/** Returns the events of a stream. */
async function readEvents(response: Response): Promise<unknown[]> {
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => JSON.parse(event.slice('data: '.length)) as unknown);
}

describe('a chat', () => {
  it('is a page with the escaped title and welcome message, and loads nothing from other servers', async () => {
    const { name } = await deployPages(workflowOf(), { welcomeMessage: 'Hi & welcome' });
    const response = await visit(`/chat/${name}`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-security-policy')).toMatch(
      /default-src 'none'.*frame-ancestors 'none'/,
    );
    const html = await response.text();
    expect(html).toContain('<h1>Ask &lt;us&gt;</h1>');
    expect(html).toContain('Hi &amp; welcome');
    for (const asset of ['page.css', 'chat.js', 'shared.js'])
      expect((await visit(`/chat/assets/${asset}`)).headers.get('content-type')).toMatch(/css|javascript/);
    expect((await visit('/chat/assets/..%2Fpackage.json')).status).toBe(404);
  });

  it('runs the workflow with the message, and continues the conversation', async () => {
    const { id, name } = await deployPages(workflowOf());
    const first = await visit(`/chat/${name}`, { body: { message: 'Hello' } });
    const conversationId = first.headers.get('x-conversation-id') ?? '';
    const [finalEvent, doneEvent] = await readEvents(first);
    const chat = await call<{ id: string }>('GET', `/api/v2/workflows/${id}/deployments/chat`);
    const conversation = `${chat.data.id}:${conversationId}`;
    expect(finalEvent).toEqual({
      event: 'final',
      data: { success: true, output: { result: { input: 'Hello', conversation } } },
    });
    expect(doneEvent).toBe('[DONE]');
    const second = await visit(`/chat/${name}`, { body: { message: 'Again', conversationId } });
    expect(JSON.stringify(await readEvents(second))).toContain(conversation);
    const { data: logs } = await call<{ trigger: string }[]>(
      'GET',
      `/api/v2/logs?workspaceId=${api.workspaceId}&workflowIds=${id}`,
    );
    expect(logs.map(({ trigger }) => trigger)).toEqual(['chat', 'chat']);
  });

  it('streams the text of selected blocks while they run', async () => {
    const exportedWorkflow = workflow(
      [startBlock() as never, block('Talker', 'talker')],
      ['Start -> Talker'],
    );
    const { name } = await deployPages(exportedWorkflow, { outputs: ['talker.content'] });
    const response = await visit(`/chat/${name}`, { body: { message: 'Hello' } });
    gate.resolve(undefined);
    const events = await readEvents(response);
    const text = events.flatMap((event) => (event as { chunk?: string }).chunk ?? []);
    expect(text.join('')).toBe('Hello Ada.');
  });

  it('stores files of a message, and refuses links to files', async () => {
    const { name } = await deployPages(workflowOf('return {files: <start.files>}'));
    const file = { name: 'note.txt', data: 'data:text/plain;base64,SGVsbG8=' };
    const events = await readEvents(
      await visit(`/chat/${name}`, { body: { message: 'Read', files: [file] } }),
    );
    expect(events[0]).toMatchObject({
      data: { output: { result: { files: [{ name: 'note.txt', size: 5 }] } } },
    });
    const linkedFile = { name: 'note.txt', data: 'http://127.0.0.1/secret' };
    expect((await visit(`/chat/${name}`, { body: { message: 'Read', files: [linkedFile] } })).status).toBe(
      400,
    );
  });

  it('does not show the reason of a failure to visitors', async () => {
    const { name } = await deployPages(workflowOf('throw new Error("secret of the block")'));
    const text = await (await visit(`/chat/${name}`, { body: { message: 'Hello' } })).text();
    expect(text).toContain('A block of the workflow failed.');
    expect(text).not.toContain('secret');
  });

  it.each([
    ['an empty message', { message: '' }],
    ['no message', {}],
    ['the conversation of another caller', { message: 'x', conversationId: 'customer:42' }],
    ['unknown fields', { message: 'x', selectedOutputs: ['F.stdout'] }],
  ])('refuses %s', async (_description, body) => {
    const { name } = await deployPages(workflowOf());
    expect((await visit(`/chat/${name}`, { body })).status).toBe(400);
  });

  it('refuses requests from pages of other sites', async () => {
    const { name } = await deployPages(workflowOf());
    const headers = { 'Sec-Fetch-Site': 'cross-site' };
    expect((await visit(`/chat/${name}`, { body: { message: 'x' }, headers })).status).toBe(403);
    const plainText = { 'Content-Type': 'text/plain' };
    expect((await visit(`/chat/${name}`, { body: { message: 'x' }, headers: plainText })).status).toBe(415);
  });

  it('accepts 60 messages per minute', async () => {
    const { name } = await deployPages(workflowOf());
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 61; attempt++)
      statuses.push((await visit(`/chat/${name}`, { body: { message: '' } })).status);
    // A refused message counts, because it has been read.
    expect(statuses.slice(0, 60).every((status) => status === 400)).toBe(true);
    expect(statuses[60]).toBe(429);
    now.ms += 60_000;
    expect((await visit(`/chat/${name}`, { body: { message: 'x' } })).status).toBe(200);
  });
});

describe('a chat with a password', () => {
  const password = 'open sesame';

  it('shows its page and starts runs only for visitors who have entered the password', async () => {
    const options = { authType: 'password', password, welcomeMessage: 'For members' };
    const { name } = await deployPages(workflowOf(), options);
    const page = await (await visit(`/chat/${name}`)).text();
    expect(page).toContain('type="password"');
    expect(page).not.toContain('For members');
    expect((await visit(`/chat/${name}`, { body: { message: 'x' } })).status).toBe(401);
    expect((await visit(`/chat/${name}/password`, { body: { password: 'wrong' } })).status).toBe(401);
    const login = await visit(`/chat/${name}/password`, { body: { password } });
    const [cookie = ''] = (login.headers.get('set-cookie') ?? '').split(';');
    expect(login.headers.get('set-cookie')).toMatch(
      new RegExp(`; Path=/chat/${name}; Max-Age=86400; HttpOnly; SameSite=Strict$`),
    );
    const headers = { cookie };
    expect(await (await visit(`/chat/${name}`, { headers })).text()).toContain('For members');
    expect((await visit(`/chat/${name}`, { body: { message: 'x' }, headers })).status).toBe(200);
  });

  it('ends sessions when its password changes, and after a day', async () => {
    const { id, name } = await deployPages(workflowOf(), { authType: 'password', password });
    const enterPassword = async (attempt: string) => {
      const response = await visit(`/chat/${name}/password`, { body: { password: attempt } });
      return (response.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    };
    const cookie = await enterPassword(password);
    const getStatus = async (headers: { cookie: string }) =>
      (await visit(`/chat/${name}`, { body: { message: 'x' }, headers })).status;
    expect(await getStatus({ cookie })).toBe(200);
    const body = { identifier: name, title: 'T', authType: 'password', password: 'another one' };
    await call('PUT', `/api/v2/workflows/${id}/deployments/chat`, { body });
    expect(await getStatus({ cookie })).toBe(401);
    const newCookie = await enterPassword('another one');
    expect(await getStatus({ cookie: newCookie })).toBe(200);
    now.ms += 24 * 3600 * 1000;
    expect(await getStatus({ cookie: newCookie })).toBe(401);
    const [expiry = '', signature = ''] = newCookie.slice('heddle_page='.length).split('.');
    const forgedCookie = `heddle_page=${Number(expiry) + 24 * 3600 * 1000}.${signature}`;
    expect(await getStatus({ cookie: forgedCookie })).toBe(401);
  });

  it('keeps its password if an update omits it, and never returns it', async () => {
    const { id, name } = await deployPages(workflowOf(), { authType: 'password', password });
    const body = { identifier: name, title: 'New title', authType: 'password' };
    const response = await call('PUT', `/api/v2/workflows/${id}/deployments/chat`, { body });
    expect(response.data).toMatchObject({ title: 'New title', authType: 'password' });
    expect(JSON.stringify(response.body)).not.toMatch(/scrypt|password_hash|sesame/);
    expect((await visit(`/chat/${name}/password`, { body: { password } })).status).toBe(200);
  });

  it('limits the password attempts of each IP address separately', async () => {
    const caller = { address: '192.0.2.1' };
    const limitedApi = await createTestApi({ now: () => now.ms, clientAddress: () => caller.address });
    const id = await limitedApi.deploy(workflowOf());
    const body = { identifier: 'guessed', title: 'T', authType: 'password', password };
    await limitedApi.call('PUT', `/api/v2/workflows/${id}/deployments/chat`, { body });
    const enterPassword = async (attempt: string) =>
      (await limitedApi.fetch('POST', '/chat/guessed/password', { key: null, body: { password: attempt } }))
        .status;
    const statuses: number[] = [];
    for (let attempt = 0; attempt < 11; attempt++) statuses.push(await enterPassword('no'));
    expect(statuses).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
    expect(await enterPassword(password)).toBe(429);
    caller.address = '192.0.2.2';
    expect(await enterPassword(password)).toBe(200);
  });
});

describe('a form', () => {
  const fields = [
    { name: 'city', type: 'string', label: 'Your city', description: 'Where you "live"', required: true },
    { name: 'size', type: 'string', options: [{ id: 'S' }, { id: 'L' }], value: 'L' },
    { name: 'many', type: 'number', value: 2 },
    { name: 'sure', type: 'boolean' },
    { name: 'more', type: 'object' },
    { name: 'papers', type: 'file[]' },
  ];
  const exportedWorkflow = workflow(
    [
      startBlock(fields) as never,
      fn('F', 'return {city: <start.city>, many: <start.many>, sure: <start.sure>}'),
    ],
    ['Start -> F'],
  );

  it('has a control for each field of the input format', async () => {
    const { name } = await deployPages(exportedWorkflow, { pages: ['form'] });
    const html = await (await visit(`/form/${name}`)).text();
    expect(html).toContain('<label for="field-0">Your city (required)</label>');
    expect(html).toContain('Where you &quot;live&quot;');
    expect(html).toContain('<option selected>L</option>');
    expect(html).toMatch(/<input type="number"[^>]*name="many"[^>]*value="2"/);
    expect(html).toMatch(/<input type="checkbox"[^>]*name="sure"/);
    expect(html).toMatch(/<input type="file" multiple[^>]*name="papers"/);
    expect((await visit(`/chat/${name}`)).status).toBe(404);
  });

  it('runs the workflow with the fields', async () => {
    const { id, name } = await deployPages(exportedWorkflow, { pages: ['chat', 'form'] });
    const body = { input: { city: 'Oslo', many: 3, sure: true } };
    const [finalEvent] = await readEvents(await visit(`/form/${name}`, { body }));
    expect(finalEvent).toMatchObject({ data: { output: { result: { city: 'Oslo', many: 3, sure: true } } } });
    const { data: logs } = await call<{ trigger: string }[]>(
      'GET',
      `/api/v2/logs?workspaceId=${api.workspaceId}&workflowIds=${id}`,
    );
    expect(logs.map(({ trigger }) => trigger)).toEqual(['form']);
  });

  it.each([
    ['a missing field', { input: {} }, 'Your city is required'],
    ['an unknown field', { input: { city: 'Oslo', admin: true } }, 'Unknown field of the form: admin'],
    [
      'a file that is not uploaded',
      { input: { city: 'Oslo', papers: [{ url: 'http://x.test' }] } },
      'Unknown field of the form: papers',
    ],
  ])('refuses %s', async (_description, body, message) => {
    const { name } = await deployPages(exportedWorkflow, { pages: ['form'] });
    const response = await visit(`/form/${name}`, { body });
    expect(response.status).toBe(400);
    expect(errorIn(await response.json()).message).toBe(message);
  });
});

describe('a chat deployment', () => {
  it('can be read, listed, replaced and removed', async () => {
    const { id, name } = await deployPages(workflowOf(), { pages: ['chat', 'form'], outputs: ['F.result'] });
    const path = `/api/v2/workflows/${id}/deployments/chat`;
    const { data } = await call<{ id: string }>('GET', path);
    expect(data).toMatchObject({
      ...{ workflowId: id, identifier: name, authType: 'public', isLive: true, outputs: ['F.result'] },
      ...{ chatUrl: `http://heddle.test/chat/${name}`, formUrl: `http://heddle.test/form/${name}` },
    });
    const list = await call<{ id: string }[]>(
      'GET',
      `/api/v2/chat-deployments?workspaceId=${api.workspaceId}`,
    );
    expect(list.data.map((chat) => chat.id)).toContain(data.id);
    const body = { identifier: `${name}-new`, title: 'T' };
    expect((await call('PUT', path, { body })).data).toMatchObject({ id: data.id, formUrl: null });
    expect((await visit(`/chat/${name}`)).status).toBe(404);
    expect((await visit(`/chat/${name}-new`)).status).toBe(200);
    expect((await call('DELETE', path)).data).toEqual({ id: data.id, deleted: true });
    expect((await call('DELETE', path)).status).toBe(404);
    expect((await call('GET', path)).status).toBe(404);
    expect((await visit(`/chat/${name}-new`)).status).toBe(404);
  });

  it('is not served while its workflow is undeployed or archived', async () => {
    const { id, name } = await deployPages(workflowOf());
    const getStatus = async () => (await visit(`/chat/${name}`)).status;
    await call('DELETE', `/api/v2/workflows/${id}/deploy`);
    expect(await getStatus()).toBe(404);
    expect((await call('GET', `/api/v2/workflows/${id}/deployments/chat`)).data).toMatchObject({
      isLive: false,
    });
    await call('POST', `/api/v2/workflows/${id}/deploy`);
    expect(await getStatus()).toBe(200);
    await call('DELETE', `/api/v2/workflows/${id}`);
    expect(await getStatus()).toBe(404);
    await call('POST', `/api/v2/workflows/${id}/restore`);
    await call('POST', `/api/v2/workflows/${id}/deploy`);
    expect(await getStatus()).toBe(200);
  });

  it('returns the same response for unknown pages and for pages that are not live', async () => {
    const { id, name } = await deployPages(workflowOf());
    await call('DELETE', `/api/v2/workflows/${id}/deploy`);
    const [unknownPageResponse, undeployedPageResponse] = [
      await visit('/chat/no-such-page'),
      await visit(`/chat/${name}`),
    ];
    expect(await undeployedPageResponse.text()).toBe(await unknownPageResponse.text());
    const post = async (page: string) => {
      const response = await visit(`/chat/${page}`, { body: { message: 'x' } });
      return [response.status, await response.text()];
    };
    expect(await post(name)).toEqual(await post('no-such-page'));
  });

  it('cannot have the identifier of another workflow, or a removed identifier of another workspace', async () => {
    const { name } = await deployPages(workflowOf());
    const otherWorkflowId = await deploy(workflowOf());
    const path = `/api/v2/workflows/${otherWorkflowId}/deployments/chat`;
    expect((await call('PUT', path, { body: { identifier: name, title: 'T' } })).status).toBe(409);
    const otherApi = await createTestApi({ store: api.store, engine });
    const otherId = await otherApi.deploy(workflowOf());
    const { id, name: removedIdentifier } = await deployPages(workflowOf());
    await call('DELETE', `/api/v2/workflows/${id}/deployments/chat`);
    const response = await otherApi.call('PUT', `/api/v2/workflows/${otherId}/deployments/chat`, {
      body: { identifier: removedIdentifier, title: 'T' },
    });
    expect(response.status).toBe(409);
    expect((await call('PUT', path, { body: { identifier: removedIdentifier, title: 'T' } })).status).toBe(
      200,
    );
  });

  it.each([
    ['an output of an unknown block', { outputs: ['Missing.content'] }, 400],
    ['a password without the auth type "password"', { password: 'open sesame' }, 400],
    ['the auth type "password" without a password', { authType: 'password' }, 400],
    ['an identifier that is not valid in a URL', { identifier: '../up' }, 400],
    ['no page', { pages: [] }, 400],
  ])('is refused with %s', async (_description, change, status) => {
    const id = await deploy(workflowOf());
    const body = { identifier: `refused-${++pageCount}`, title: 'T', ...change };
    expect((await call('PUT', `/api/v2/workflows/${id}/deployments/chat`, { body })).status).toBe(status);
  });

  it('needs a live version, and a workspace that allows public sharing', async () => {
    const draftId = await api.createDraft(workflowOf());
    const body = { identifier: 'never-live', title: 'T' };
    expect((await call('PUT', `/api/v2/workflows/${draftId}/deployments/chat`, { body })).status).toBe(409);
    const strictApi = await createTestApi({ allowsPublicRuns: () => false });
    const id = await strictApi.deploy(workflowOf());
    const response = await strictApi.call('PUT', `/api/v2/workflows/${id}/deployments/chat`, { body });
    expect(errorIn(response.body).details?.code).toBe('PUBLIC_SHARING_NOT_ALLOWED');
  });

  it('ignores selected outputs that no longer exist in the live version', async () => {
    const { id, name } = await deployPages(workflowOf(), { outputs: ['F.result'] });
    const changedWorkflow = workflow([startBlock() as never, fn('G', 'return "new"')], ['Start -> G']);
    await call('PUT', `/api/v2/workflows/${id}/state`, { body: draftOf(changedWorkflow) });
    await call('POST', `/api/v2/workflows/${id}/deploy`);
    const [finalEvent] = await readEvents(await visit(`/chat/${name}`, { body: { message: 'x' } }));
    expect(finalEvent).toMatchObject({ data: { success: true, output: { result: 'new' } } });
  });
});

it('the tests above cause no internal errors', () => {
  expect(api.reportedErrors).toEqual([]);
});
