import type { Area } from '@heddle/api';
import {
  bytesBody,
  formBody,
  jsonBody,
  operationFactory,
  USER_PRINCIPALS,
  workspace,
} from '@heddle/api/areas';
import type { Reply } from '@heddle/api/areas';
import * as z from 'zod';
import { describe, expect, it } from 'vitest';
import { createTestApi } from '../support/api.ts';

const MAX_BYTES = 1000;
/** The time limit for the next bytes of a body. */
const BODY_TIMEOUT_MS = 30_000;
const defineOperation = operationFactory<object>();

const commonDeclaration = {
  method: 'POST',
  tag: 'Bodies',
  principals: USER_PRINCIPALS,
  scope: 'api:write',
  role: 'write',
  resource: workspace('query'),
  params: z.strictObject({}),
  query: z.strictObject({ workspaceId: z.string() }),
  errors: [400, 401, 403, 404, 413, 415, 429],
} as const;
const declareSuccess = (schema: z.ZodType) => [{ status: 200, schema, description: 'What was received' }];

let bytesRead = 0;

const sendBytes = defineOperation({
  ...commonDeclaration,
  id: 'sendBytes',
  path: '/api/v2/bodies/bytes',
  summary: 'Receive bytes',
  body: bytesBody({ types: ['text/csv', 'application/zip'], maxBytes: MAX_BYTES }),
  success: declareSuccess(z.object({ bytes: z.int() })),
  async handle(_services, { body }) {
    let byteCount = 0;
    for await (const chunk of body) byteCount += chunk.byteLength;
    bytesRead += byteCount;
    return { data: { bytes: byteCount } };
  },
});

const sendForm = defineOperation({
  ...commonDeclaration,
  id: 'sendForm',
  path: '/api/v2/bodies/form',
  summary: 'Receive a form',
  body: formBody({ title: z.string().max(20), file: z.file().max(500) }, MAX_BYTES),
  success: declareSuccess(z.object({ title: z.string(), text: z.string() })),
  async handle(_services, { body: { title, file } }) {
    return { data: { title, text: await file.text() } };
  },
});

const sendJson = defineOperation({
  ...commonDeclaration,
  id: 'sendJson',
  path: '/api/v2/bodies/json',
  summary: 'Receive JSON',
  body: jsonBody(z.strictObject({ text: z.string() }), MAX_BYTES),
  success: declareSuccess(z.object({ text: z.string() })),
  handle: async (_services, { body }) => ({ data: body }),
});

const operations = { sendBytes, sendForm, sendJson };
const area: Area<object, typeof operations> = { name: 'bodies', operations, services: () => ({}) };
const timerCallbacks: (() => void)[] = [];
const repeat = (ms: number, callback: () => void) => {
  // Timers with other intervals belong to the service.
  if (ms !== BODY_TIMEOUT_MS) return () => undefined;
  timerCallbacks.push(callback);
  return () => void timerCallbacks.splice(timerCallbacks.indexOf(callback), 1);
};
const { api, key, userId, workspaceId, call } = await createTestApi({ areas: [area], repeat });

interface SendOptions {
  type?: string;
  body: NonNullable<RequestInit['body']>;
  key?: string;
}

async function send(name: 'bytes' | 'form' | 'json', { type, body, key: apiKey = key }: SendOptions) {
  const headers = { 'X-API-Key': apiKey, ...(type !== undefined && { 'Content-Type': type }) };
  const url = `http://heddle.test/api/v2/bodies/${name}?workspaceId=${workspaceId}`;
  const init = { method: 'POST', headers, body, duplex: 'half' } as RequestInit;
  const response = await api.fetch(new Request(url, init));
  const { data, error } = (await response.json()) as { data?: object; error?: { message: string } };
  return { status: response.status, data, message: error?.message };
}

/** Returns a body of `count` chunks, without a Content-Length. `counter` counts the chunks that were read. */
function createChunkedBody(count: number, size: number, counter = { chunks: 0 }): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (counter.chunks++ < count) controller.enqueue(new Uint8Array(size));
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

const tooLargeResponse = { status: 413, message: 'Request body is too large' };

describe('a body of raw bytes', () => {
  it('reaches the handler as a stream', async () => {
    expect(await send('bytes', { type: 'text/csv; charset=utf-8', body: 'a,b' })).toMatchObject({
      status: 200,
      data: { bytes: 3 },
    });
    expect(await send('bytes', { type: 'application/zip', body: createChunkedBody(10, 100) })).toMatchObject({
      data: { bytes: MAX_BYTES },
    });
  });

  it('is refused above its maximum size, without reading the rest', async () => {
    const counter = { chunks: 0 };
    const body = createChunkedBody(1000, 100, counter);
    expect(await send('bytes', { type: 'text/csv', body })).toMatchObject(tooLargeResponse);
    expect(counter.chunks).toBeLessThan(15);
    const response = await send('bytes', { type: 'text/csv', body: 'x'.repeat(MAX_BYTES + 1) });
    expect(response).toMatchObject(tooLargeResponse);
  });

  it('is refused in another media type, and is not read for callers without access', async () => {
    expect(await send('bytes', { type: 'application/json', body: '{}' })).toMatchObject({
      status: 415,
      message: 'Request body must be sent as text/csv or application/zip',
    });
    bytesRead = 0;
    expect(await send('bytes', { type: 'text/csv', body: 'a,b', key: 'sk-heddle-wrong' })).toMatchObject({
      status: 401,
    });
    expect(bytesRead).toBe(0);
  });

  it('is refused if no bytes arrive within the time limit', async () => {
    const silentBody = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => undefined) });
    const response = send('bytes', { type: 'text/csv', body: silentBody });
    await expect.poll(() => timerCallbacks.length).toBeGreaterThan(0);
    for (const callback of [...timerCallbacks]) callback();
    expect(await response).toMatchObject({ status: 408 });
  });
});

describe('a form', () => {
  const toForm = (parts: [string, string | Blob][]): FormData => {
    const data = new FormData();
    for (const [name, value] of parts) data.append(name, value);
    return data;
  };
  const createFile = (size: number) => new File(['x'.repeat(size)], 'x.txt');

  it('reaches the handler with its files', async () => {
    const body = toForm([
      ['title', 'Loom'],
      ['file', createFile(3)],
    ]);
    expect(await send('form', { body })).toMatchObject({
      status: 200,
      data: { title: 'Loom', text: 'xxx' },
    });
  });

  it.each<[description: string, parts: [string, string | Blob][], message: string]>([
    ['without a part', [['title', 'Loom']], 'file is required'],
    [
      'with a string in place of a file',
      [
        ['title', 'Loom'],
        ['file', 'x'],
      ],
      'file must be of type file',
    ],
    [
      'with a repeated part',
      [
        ['title', 'Loom'],
        ['title', 'Loom'],
        ['file', createFile(1)],
      ],
      'title must be of type string',
    ],
    [
      'with a file that is too large',
      [
        ['title', 'Loom'],
        ['file', createFile(501)],
      ],
      'file',
    ],
    [
      'with an unknown part',
      [
        ['title', 'Loom'],
        ['file', createFile(1)],
        ['more', 'x'],
      ],
      'Unrecognized key',
    ],
  ])('is refused %s', async (_, parts, message) => {
    const response = await send('form', { body: toForm(parts) });
    expect(response.status).toBe(400);
    expect(response.message).toContain(message);
  });

  it('is refused above its maximum size, in another media type and with a broken body', async () => {
    const largeForm = toForm([
      ['title', 'Loom'],
      ['file', createFile(2000)],
    ]);
    expect(await send('form', { body: largeForm })).toMatchObject(tooLargeResponse);
    expect(await send('form', { type: 'application/json', body: '{}' })).toMatchObject({ status: 415 });
    const type = 'multipart/form-data; boundary=x';
    expect(await send('form', { type, body: '--x\r\nnothing' })).toMatchObject({ status: 400 });
    expect(await send('form', { type, body: createChunkedBody(1000, 100) })).toMatchObject(tooLargeResponse);
  });
});

describe('a JSON body with its own size limit', () => {
  it('is refused above its limit', async () => {
    const sendText = (length: number) =>
      send('json', { type: 'application/json', body: JSON.stringify({ text: 'x'.repeat(length) }) });
    expect(await sendText(900)).toMatchObject({ status: 200 });
    expect(await sendText(1000)).toMatchObject(tooLargeResponse);
  });
});

describe('the body of a function call with a principal', () => {
  const principal = {
    ...{ kind: 'personal', credentialId: 'host', userId, workspaceId: null },
    ...{ scopes: ['api:write'], expiresAt: null },
  } as const;
  const tooLargeError = { status: 413, message: 'Request body is too large' };
  const callOperation = (name: string, body: unknown) => {
    const functions = api.operations as unknown as { [name: string]: (call: object) => Promise<Reply> };
    return functions[name]?.({ principal, query: { workspaceId }, body });
  };

  it('has the size limits of the body of a request', async () => {
    expect(await callOperation('sendJson', { text: 'x'.repeat(900) })).toMatchObject({ data: {} });
    await expect(callOperation('sendJson', { text: '\u00e4'.repeat(500) })).rejects.toMatchObject(
      tooLargeError,
    );
    expect(await callOperation('sendBytes', createChunkedBody(10, 100))).toMatchObject({
      data: { bytes: MAX_BYTES },
    });
    const counter = { chunks: 0 };
    await expect(callOperation('sendBytes', createChunkedBody(1000, 100, counter))).rejects.toMatchObject(
      tooLargeError,
    );
    expect(counter.chunks).toBeLessThan(15);
    const title = 'Loom';
    expect(await callOperation('sendForm', { title, file: new File(['x'], 'x.txt') })).toMatchObject({
      data: {},
    });
    const file = new File(['x'.repeat(2000)], 'x.txt');
    await expect(callOperation('sendForm', { title, file })).rejects.toMatchObject(tooLargeError);
  });

  it('is refused with 400 if it is not JSON or is nested too deeply', async () => {
    let deepValue: unknown = 0;
    for (let depth = 0; depth < 100_000; depth += 1) deepValue = [deepValue];
    for (const text of [1n, deepValue])
      await expect(callOperation('sendJson', { text })).rejects.toMatchObject({
        status: 400,
        message: 'Request body must be valid JSON',
      });
    const levels = Array.from({ length: 2001 });
    const nestedValue = levels.reduce<unknown>((inner) => [inner], 0);
    await expect(callOperation('sendJson', { text: nestedValue })).rejects.toMatchObject({
      message: 'Request body is nested more than 2000 levels deep',
    });
  });
});

it('the OpenAPI document declares the media types of request bodies', async () => {
  const { body } = await call('GET', '/openapi.json', { key: null });
  const { paths } = body as { paths: { [path: string]: { post: { requestBody: { content: object } } } } };
  const contentOf = (name: string) => paths[`/api/v2/bodies/${name}`]?.post.requestBody.content;
  const binaryContent = { schema: { type: 'string', format: 'binary' } };
  expect(contentOf('bytes')).toEqual({ 'text/csv': binaryContent, 'application/zip': binaryContent });
  expect(contentOf('form')).toMatchObject({
    'multipart/form-data': {
      schema: { properties: { title: { type: 'string' }, file: { type: 'string', format: 'binary' } } },
    },
  });
  expect(Object.keys(contentOf('json') ?? {})).toEqual(['application/json']);
});
