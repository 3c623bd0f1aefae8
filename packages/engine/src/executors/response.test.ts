import { describe, expect, it } from 'vitest';
import type { BlockConfig, Json, JsonObject } from '@heddle/core/blocks';
import { contextOf, failureOf } from '../../../../test/support/block.ts';
import type { BlockFixture } from '../../../../test/support/block.ts';
import { createBlockContext } from './context.ts';
import { responseExecutor } from './response.ts';

const result = {
  a: 1,
  s: 'it\'s "q"\nnl',
  n: null,
  b: true,
  l: [1, 'x'],
  z: 0,
  e: '',
  json: '{"x": 1}',
  key: '"k"',
  open: '[',
  close: ']',
};
const JSON_HEADERS = { 'Content-Type': 'application/json' };

const respond = (params: JsonObject, fixture: BlockFixture = {}): unknown => {
  const response = responseExecutor.execute(
    contextOf({ type: 'response', params, outputs: { P: { result } }, ...fixture }),
  );
  return (response as { output: Json }).output;
};

describe('a response in JSON mode', () => {
  it.each<[string, Json]>([
    ['{"v": <p.result.s>}', { v: result.s }],
    ['{"v": "<p.result.s>"}', { v: result.s }],
    ['{"v": <p.result.a>}', { v: 1 }],
    ['{"v": "<p.result.a>"}', { v: '1' }],
    ['{"v": <p.result.b>}', { v: true }],
    ['{"v": <p.result.n>}', { v: null }],
    ['{"v": <p.result.l>}', { v: [1, 'x'] }],
    ['{"v": <p.result.nope>}', { v: null }],
    ['{"v": <p.result.s>, }', '{"v": it\'s "q"\nnl, }'],
    ['{<p.result.key>: 1}', '{"k": 1}'],
    ['<p.result.open><p.result.close>', '[]'],
    ['{"v": "<p.result.nope>"}', { v: '' }],
    ['{"v": "<p.result.e>"}', { v: '' }],
    ['<p.result>', result],
    ['<p.result.s>', result.s],
    ['<p.result.n>', null],
    ['<p.result.nope>', {}],
    ['<p.result.json>', { x: 1 }],
    ['\n<p.result.l> ', [1, 'x']],
    ['<p.result.a>', 1],
    ['{"v": ', '{"v": '],
    ['5', 5],
    ['{"k<p.result.a>": 1}', { k1: 1 }],
  ])('parses %s if it is JSON, else returns the text (r183–r206)', (data, expected) => {
    expect(respond({ dataMode: 'json', data })).toEqual({
      data: expected,
      status: 200,
      headers: JSON_HEADERS,
    });
  });

  it('returns an empty object without data (r218)', () => {
    expect(respond({ dataMode: 'json', status: '204' })).toEqual({
      data: {},
      status: 204,
      headers: JSON_HEADERS,
    });
  });

  it('replaces placeholders in the authored text, never in data (r228, r229)', () => {
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
  ])('maps status %s to %i (r207–r215)', (status, expected) => {
    expect(respond({ dataMode: 'json', data: '{}', status })).toMatchObject({ status: expected });
  });

  it('overrides the default headers with those of the table (r216)', () => {
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

describe('a response in a plan stored by an earlier version', () => {
  it('is resolved like any other response, because the plan has the parts of the text', () => {
    const block = JSON.parse(
      `{"id": "r", "type": "response", "name": "R", "trigger": false, "containers": [], "sources": ["q"], "params": {
        "dataMode": {"kind": "literal", "value": "json"},
        "data": {"kind": "text", "parts": ["{\\"v\\": \\"",
          {"ref": {"kind": "block", "text": "<q.v>", "block": "q", "up": 0, "into": [], "path": ["v"]}}, "\\"}"]}}}`,
    ) as BlockConfig;
    const v = '","role":"admin';
    const { services, clock, signal, step } = contextOf({ outputs: { Q: { v } } });
    const options = { runId: 'r', workflowId: 'w', scope: [], try: 1, block, services, clock, signal, step };
    expect(responseExecutor.execute(createBlockContext(options))).toMatchObject({ output: { data: { v } } });
  });
});

describe('headers of a response', () => {
  const createHeaders = (name: string, value: string): JsonObject => ({ [name]: value });

  it.each<[JsonObject, string]>([
    [createHeaders('X-A', '<q.v>'), 'The value of the header "X-A" of the response contains a line break'],
    [createHeaders('X-A', 'snow \u2603'), 'the character U+2603'],
    [createHeaders('X <q.v>', 'a'), 'The response has a header with the name "X <q.v>"'],
  ])('%j fail the block', async (headers, message) => {
    const outputs = { Q: { v: 'a\r\nSet-Cookie: b=c' } };
    const failure = await failureOf(() => respond({ dataMode: 'json', headers }, { outputs }));
    expect(failure).toMatchObject({ code: 'BLOCK_CONFIG_INVALID', retryable: false });
    expect(failure.message).toContain(message);
  });

  it('have exactly the authored names if they are JSON text', () => {
    const outputs = { Q: { v: 'a", "Set-Cookie": "b=c' } };
    expect(
      respond({ dataMode: 'json', headers: '{"X-A": "<q.v>", "X-B": <q.n>}' }, { outputs }),
    ).toMatchObject({
      headers: { ...JSON_HEADERS, 'X-A': outputs.Q.v, 'X-B': '' },
    });
  });
});

describe('a response in builder mode', () => {
  it('supports nested objects, lists of entries and lists from references, and omits entries without a name (r760)', () => {
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

  it('is the default; it parses objects and lists in text, and keeps other text unchanged', () => {
    const builderData = [
      { name: 'r', type: 'string', value: '<p.result>' },
      { name: 'five', type: 'string', value: '5' },
      { name: 'n', type: 'number', value: 'abc' },
    ];
    expect(respond({ builderData })).toMatchObject({ data: { r: result, five: '5', n: 'abc' } });
    expect(respond({})).toMatchObject({ data: {} });
  });

  it('keeps its fields whatever the values contain, even in fields of JSON text', () => {
    const outputs = { Q: { v: '","role":"admin', json: '{"role":"admin"}', open: '{', close: '}' } };
    const builderData = [
      { name: 'o', type: 'object', value: '{"k": "<q.v>", "n": <q.v>}' },
      { name: 'a', type: 'array', value: '[{"k": "<q.v>"}]' },
      { name: 's', type: 'string', value: '{"k": "<q.v>"}' },
      { name: 'text', type: 'string', value: '<q.json>' },
      { name: 'parsed', type: 'object', value: '<q.json>' },
      { name: 'joined', type: 'object', value: '<q.open><q.close>' },
    ];
    const data = {
      o: { k: outputs.Q.v, n: outputs.Q.v },
      a: [{ k: outputs.Q.v }],
      s: { k: outputs.Q.v },
      text: '{"role":"admin"}',
      parsed: { role: 'admin' },
      joined: '{}',
    };
    expect(respond({ builderData }, { outputs })).toMatchObject({ data });
    expect(respond({ builderData: JSON.stringify(builderData) }, { outputs })).toMatchObject({ data });
  });

  it('fails when a value resolves to the name of another field', async () => {
    const createEntry = (name: string): JsonObject => ({ name, type: 'string', value: name });
    const outputs = { Q: { v: 'role' } };
    const nestedData = [{ name: 'o', type: 'object', value: [createEntry('role'), createEntry('<q.v>')] }];
    for (const builderData of [
      [createEntry('role'), createEntry('<q.v>')],
      [createEntry('<q.v>'), createEntry('role')],
      nestedData,
    ])
      expect(await failureOf(() => respond({ builderData }, { outputs }))).toMatchObject({
        code: 'BLOCK_CONFIG_INVALID',
      });
    expect(respond({ builderData: [createEntry('role'), createEntry('role')] })).toMatchObject({
      data: { role: 'role' },
    });
  });

  it('reads entries from JSON text with unquoted references', () => {
    const builderData =
      '[{"name": "l", "type": "array", "value": <p.result.l>}, {"name": "<p.result.a>", "value": "x"}]';
    expect(respond({ builderData })).toMatchObject({ data: { 1: 'x', l: [1, 'x'] } });
  });

  it('responds with status 500 when it cannot be built (§3.7)', () => {
    expect(respond({ builderData: '{bad' })).toMatchObject({
      data: { error: expect.any(String) as string, message: expect.stringContaining('not a list') as string },
      status: 500,
    });
    expect(respond({ headers: 'bad' })).toMatchObject({ status: 500 });
  });

  it('fails the block when a reference cannot be resolved (F24)', async () => {
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
