import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { contextOf, failureOf } from '../../../../../test/support/block.ts';
import { readRequest } from './request.ts';

interface SentRequest {
  body: string | undefined;
  headers: [string, string][];
}

/** Returns the request that an api block would send after a block `a` with the output `values`. */
function buildRequest(
  body: Json,
  values: JsonObject,
  { headers = {}, env = {} }: { headers?: JsonObject; env?: { [name: string]: string } } = {},
): SentRequest {
  const context = contextOf({
    type: 'api',
    params: { url: 'https://h.test/', method: 'POST', headers, body },
    outputs: { A: values },
    env,
  });
  const request = readRequest(context);
  if (request === undefined) throw new Error('there is no request');
  return { body: request.body, headers: request.headers };
}

const JSON_TYPE_HEADER = ['Content-Type', 'application/json'];
const FORM_HEADERS = { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' };
const MULTIPART_HEADERS = { 'content-type': 'multipart/form-data; boundary="xyz"' };

describe('a JSON text body', () => {
  it('keeps its fields for any value, and is sent as JSON', () => {
    expect(
      buildRequest('{"name": "<a.v>", "n": <a.n>, "id": 12345678901234567890}', {
        v: 'x","role":"admin',
        n: [1],
      }),
    ).toEqual({
      body: '{"name": "x\\",\\"role\\":\\"admin", "n": [1], "id": 12345678901234567890}',
      headers: [JSON_TYPE_HEADER],
    });
  });

  it('resolves GraphQL variables, and keeps the query as one string', () => {
    const body =
      '{"query": "query ($id: ID!) { user(id: $id) { name } }", "variables": {"id": <a.v>, "note": "<a.v>"}}';
    expect(JSON.parse(buildRequest(body, { v: '1") { x } #' }).body ?? '')).toEqual({
      query: 'query ($id: ID!) { user(id: $id) { name } }',
      variables: { id: '1") { x } #', note: '1") { x } #' },
    });
  });

  it('is sent as text if only its values make it JSON', () => {
    expect(buildRequest('{<a.k>: 1}', { k: '"k"' })).toEqual({ body: '{"k": 1}', headers: [] });
  });

  it('is the value itself if it is exactly one reference', () => {
    expect(buildRequest('<a.v>', { v: { k: 1 } })).toEqual({ body: '{"k":1}', headers: [JSON_TYPE_HEADER] });
    expect(buildRequest('<a.v>\n', { v: 'plain' })).toEqual({ body: 'plain', headers: [] });
    expect(buildRequest('{{B}}', {}, { env: { B: '{"a": 1}' } })).toEqual({
      body: '{"a": 1}',
      headers: [JSON_TYPE_HEADER],
    });
  });

  it('treats placeholders like references', () => {
    expect(buildRequest('{"key": "{{K}}", "n": {{N}}}', {}, { env: { K: 'a"b', N: '5' } }).body).toBe(
      '{"key": "a\\"b", "n": 5}',
    );
  });
});

describe('a form body', () => {
  it('keeps its fields for any value', () => {
    expect(
      buildRequest(
        'name=<a.v>&key={{K}}&role=user',
        { v: 'x&role=admin +é' },
        { headers: FORM_HEADERS, env: { K: 'a&b' } },
      ).body,
    ).toBe('name=x%26role%3Dadmin+%2B%C3%A9&key=a%26b&role=user');
  });

  it.each<[Json]>([
    [{ a: '<a.v>', b: [1] }],
    ['{"a": "<a.v>", "b": [1]}'],
    [
      [
        { Key: 'a', Value: '<a.v>' },
        { Key: 'b', Value: '[1]' },
      ],
    ],
  ])('is built from the object or table %j', (body) => {
    expect(buildRequest(body, { v: 'x&y' }, { headers: FORM_HEADERS })).toEqual({
      body: 'a=x%26y&b=%5B1%5D',
      headers: Object.entries(FORM_HEADERS),
    });
  });

  it('is sent unchanged if it is text without references, or exactly one reference', () => {
    expect(buildRequest('a=b&c=%20', {}, { headers: FORM_HEADERS }).body).toBe('a=b&c=%20');
    expect(buildRequest('<a.v>', { v: 'a=b&c' }, { headers: FORM_HEADERS }).body).toBe('a=b&c');
    expect(buildRequest([1, 2], {}, { headers: FORM_HEADERS }).body).toBe('[1,2]');
  });
});

describe('a multipart body', () => {
  const body = '--xyz\r\nContent-Disposition: form-data; name="<a.n>"\r\n\r\n<a.v>\r\n--xyz--\r\n';

  it('keeps its parts and their headers', () => {
    expect(
      buildRequest(body, { n: 'f"; filename="x\r\nA: b', v: 'a "b"\r\n' }, { headers: MULTIPART_HEADERS })
        .body,
    ).toBe(
      '--xyz\r\nContent-Disposition: form-data; name="f%22; filename=%22x%0D%0AA: b"\r\n\r\na "b"\r\n\r\n--xyz--\r\n',
    );
  });

  it.each<[string, string]>([
    ['n', '\r\n--xyz\r\nContent-Disposition: form-data; name="role"\r\n\r\nadmin'],
    ['--xyz', 'v'],
  ])('fails the block if a value contains its boundary', async (name, valueStart) => {
    const values = { n: name, v: `${valueStart}--xyz` };
    const failure = await failureOf(() => buildRequest(body, values, { headers: MULTIPART_HEADERS }));
    expect(failure).toMatchObject({ code: 'BLOCK_CONFIG_INVALID', retryable: false });
    expect(failure.message).toContain('boundary');
  });
});

describe('headers of a request', () => {
  it.each<[JsonObject, string]>([
    [{ 'X-A': '<a.v>' }, 'The value of the header "X-A" of the request contains a line break'],
    [{ 'X-A': '\u0000' }, 'the character U+0000'],
    [{ 'X A': 'a' }, 'with the name "X A"'],
  ])('%j fail the block', async (headers, message) => {
    const failure = await failureOf(() => buildRequest(null, { v: 'a\r\nX-B: c' }, { headers }));
    expect(failure).toMatchObject({ code: 'BLOCK_CONFIG_INVALID', retryable: false });
    expect(failure.message).toContain(message);
  });

  it('have exactly the authored names if they are JSON text', () => {
    const context = contextOf({
      type: 'api',
      params: { url: 'https://h.test/', headers: '{"X-A": "<a.v>"}', params: '{"q": "<a.v>"}' },
      outputs: { A: { v: 'a", "X-B": "c' } },
    });
    expect(readRequest(context)).toMatchObject({
      url: 'https://h.test/?q=a%22%2C+%22X-B%22%3A+%22c',
      headers: [['X-A', 'a", "X-B": "c']],
    });
  });
});
