import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { contextOf, failureOf } from '../../../../test/support/block.ts';
import type { Scene } from '../../../../test/support/block.ts';
import { responseExecutor } from './response.ts';

const result = { a: 1, s: 'it\'s "q"\nnl', n: null, b: true, l: [1, 'x'], z: 0, e: '' };
const JSON_HEADERS = { 'Content-Type': 'application/json' };

const respond = (params: JsonObject, scene: Scene = {}): unknown => {
  const made = responseExecutor.execute(
    contextOf({ type: 'response', params, outputs: { P: { result } }, ...scene }),
  );
  return (made as { output: Json }).output;
};

describe('a response in JSON mode', () => {
  it.each<[string, Json]>([
    ['{"v": <p.result.s>}', '{"v": it\'s "q"\nnl}'],
    ['{"v": "<p.result.s>"}', '{"v": "it\'s "q"\nnl"}'],
    ['{"v": <p.result.a>}', { v: 1 }],
    ['{"v": "<p.result.a>"}', { v: '1' }],
    ['{"v": <p.result.b>}', { v: true }],
    ['{"v": <p.result.n>}', { v: null }],
    ['{"v": <p.result.l>}', { v: [1, 'x'] }],
    ['{"v": <p.result.nope>}', '{"v": }'],
    ['{"v": "<p.result.nope>"}', { v: '' }],
    ['{"v": "<p.result.e>"}', { v: '' }],
    ['<p.result>', result],
    ['<p.result.s>', result.s],
    ['<p.result.a>', 1],
    ['{"v": ', '{"v": '],
    ['5', 5],
    ['{"k<p.result.a>": 1}', { k1: 1 }],
  ])('%s gives JSON where it is JSON, else the text (r183–r206)', (data, expected) => {
    expect(respond({ dataMode: 'json', data })).toEqual({
      data: expected,
      status: 200,
      headers: JSON_HEADERS,
    });
  });

  it('gives an empty object without data (r218)', () => {
    expect(respond({ dataMode: 'json', status: '204' })).toEqual({
      data: {},
      status: 204,
      headers: JSON_HEADERS,
    });
  });

  it('fills in placeholders of the text, never those of data (r228, r229)', () => {
    const env = { K: 'val' };
    expect(respond({ dataMode: 'json', data: '{"k": "{{K}}", "u": "{{UNKNOWN}}"}' }, { env })).toMatchObject({
      data: { k: 'val', u: '{{UNKNOWN}}' },
    });
    expect(
      respond({ dataMode: 'json', data: '{"k": "<q.v>"}' }, { env, outputs: { Q: { v: '{{K}}' } } }),
    ).toMatchObject({ data: { k: '{{K}}' } });
  });

  it.each([
    ['201', 201],
    ['404', 404],
    ['99', 200],
    ['600', 200],
    ['<p.result.a>', 200],
    ['302', 302],
    ['', 200],
    ['20.5', 200],
    ['abc', 200],
  ])('status %s is %i (r207–r215)', (status, expected) => {
    expect(respond({ dataMode: 'json', data: '{}', status })).toMatchObject({ status: expected });
  });

  it('takes headers from the table, over its own (r216)', () => {
    const headers = [
      ['X-A', '<p.result.a>'],
      ['Content-Type', 'text/plain'],
      ['', 'z'],
    ].map(([Key = '', Value = '']) => ({ id: Key, cells: { Key, Value } }));
    expect(respond({ dataMode: 'json', data: '{}', headers })).toMatchObject({
      headers: { 'Content-Type': 'text/plain', 'X-A': '1' },
    });
    expect(respond({ dataMode: 'json', data: '{}', headers: null })).toMatchObject({ headers: JSON_HEADERS });
  });
});

describe('a response that is built', () => {
  it('has nested objects, lists of entries and lists from references; nameless entries are left out (r760)', () => {
    const builderData = [
      {
        name: 'o',
        type: 'object',
        value: [
          { name: 's', type: 'string', value: '<p.result.s>' },
          { name: 'b', type: 'boolean', value: 'false' },
        ],
      },
      {
        name: 'a',
        type: 'array',
        value: [
          { name: '0', type: 'number', value: '7' },
          { name: '1', type: 'string', value: 'x' },
        ],
      },
      { name: 'l', type: 'array', value: '<p.result.l>' },
      { name: '', type: 'string', value: 'no name' },
      { name: 'e', type: 'string', value: '' },
    ];
    expect(respond({ dataMode: 'structured', status: '200', builderData })).toEqual({
      data: { o: { s: result.s, b: false }, a: [7, 'x'], l: [1, 'x'], e: '' },
      status: 200,
      headers: JSON_HEADERS,
    });
  });

  it('is the default mode, parses objects and lists in texts, and keeps what is none', () => {
    const builderData = [
      { name: 'r', type: 'string', value: '<p.result>' },
      { name: 'five', type: 'string', value: '5' },
      { name: 'n', type: 'number', value: 'abc' },
    ];
    expect(respond({ builderData })).toMatchObject({ data: { r: result, five: '5', n: 'abc' } });
    expect(respond({})).toMatchObject({ data: {} });
  });

  it('answers 500 itself when it cannot be made (§3.7)', () => {
    expect(respond({ builderData: '{bad' })).toMatchObject({
      data: { error: expect.any(String) as string, message: expect.stringContaining('no list') as string },
      status: 500,
    });
    expect(respond({ headers: 'bad' })).toMatchObject({ status: 500 });
  });

  it('a reference that fails, fails the block (F24)', async () => {
    const lookup = {
      ...contextOf({ outputs: { P: {} } }).services.lookup,
      describe: () => ({
        name: 'P',
        type: 'function',
        outputs: { fields: { result: { type: 'json', opaque: true } } },
      }),
    };
    expect(
      await failureOf(() => respond({ dataMode: 'json', data: '<p.nope>' }, { services: { lookup } })),
    ).toMatchObject({ code: 'REFERENCE_UNRESOLVED' });
  });
});
