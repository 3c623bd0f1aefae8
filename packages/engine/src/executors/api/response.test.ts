import { describe, expect, it } from 'vitest';
import { apiOutput } from './response.ts';

interface ResponseFields {
  status?: number;
  headers?: [string, string][];
  body?: string | Uint8Array;
}

const outputOf = ({
  status = 200,
  headers = [['content-type', 'application/json']],
  body = '{}',
}: ResponseFields): unknown =>
  apiOutput({
    status,
    statusText: '',
    url: 'https://x.test/',
    redirected: false,
    headers,
    body: typeof body === 'string' ? new TextEncoder().encode(body) : body,
  });

describe('the response to an api block', () => {
  it.each<[ResponseFields, unknown]>([
    [{ body: '{"a": [1]}' }, { a: [1] }],
    [{ body: 'not json' }, 'not json'],
    [{ headers: [['content-type', 'application/problem+json; charset=utf-8']], body: '{"t": 1}' }, { t: 1 }],
    [{ headers: [['content-type', 'text/plain']], body: '{"t": 1}' }, '{"t": 1}'],
    [{ headers: [['content-type', 'text/plain; charset=iso-8859-1']], body: new Uint8Array([0xe9]) }, 'é'],
    [{ headers: [['content-type', 'image/png']], body: new Uint8Array([137, 80]) }, 'iVA='],
    [{ status: 204, headers: [], body: '' }, null],
  ])('is parsed according to its content type: %j (P7)', (fields, data) => {
    expect(outputOf(fields)).toMatchObject({ data, status: fields.status ?? 200 });
  });

  it('joins repeated headers', () => {
    const headers: [string, string][] = [
      ['x-a', '1'],
      ['x-a', '2'],
    ];
    expect(outputOf({ headers })).toMatchObject({ headers: { 'x-a': '1, 2' } });
  });
});
