import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { blockOf } from '../../../../test/support/block.ts';
import { startOutput } from './start.ts';

type Field = [name: string, type: string, value?: Json];

const start = (
  fields: Field[],
  input: Json,
  options: { type?: string; params?: JsonObject; metadata?: JsonObject } = {},
): JsonObject => {
  const inputFormat = fields.map(([name, type, value]) => ({
    id: name,
    name,
    type,
    ...(value === undefined ? {} : { value }),
  }));
  const block = blockOf({
    type: options.type ?? 'start_trigger',
    name: 'Start',
    params: { inputFormat, ...options.params },
  });
  return startOutput(block, input, options.metadata && (() => options.metadata as JsonObject));
};

/** The values of the cases r001–r005. */
const INPUT_VALUES: JsonObject = {
  str: 'hello',
  numstr: '42',
  float: ' 3.5 ',
  badnum: '12abc',
  emptyStr: '',
  zero: 0,
  neg: -1.5,
  t: true,
  f: false,
  strTrue: 'true',
  strTRUE: 'TRUE',
  one: 1,
  strOne: '1',
  strZero: '0',
  yes: 'yes',
  obj: { a: 1 },
  arr: [1, 'b', null],
  jsonObj: '{"k": [1]}',
  jsonArr: '[1, 2]',
  badJson: '{k: 1}',
  nul: null,
};
const { nul: _nul, ...NON_NULL_VALUES } = INPUT_VALUES;

describe('start_trigger', () => {
  it.each<[string, JsonObject]>([
    [
      'string',
      {
        ...NON_NULL_VALUES,
        zero: '0',
        neg: '-1.5',
        t: 'true',
        f: 'false',
        one: '1',
        obj: '[object Object]',
        arr: '1,b,',
      },
    ],
    [
      'number',
      { ...NON_NULL_VALUES, numstr: 42, float: 3.5, emptyStr: 0, t: 1, f: 0, strOne: 1, strZero: 0 },
    ],
    ['boolean', { ...NON_NULL_VALUES, zero: false, strTrue: true, one: true, strOne: true, strZero: false }],
    [
      'array',
      {
        ...NON_NULL_VALUES,
        numstr: 42,
        float: 3.5,
        strTrue: true,
        strOne: 1,
        strZero: 0,
        jsonObj: { k: [1] },
        jsonArr: [1, 2],
      },
    ],
    [
      'object',
      {
        ...NON_NULL_VALUES,
        numstr: 42,
        float: 3.5,
        strTrue: true,
        strOne: 1,
        strZero: 0,
        jsonObj: { k: [1] },
        jsonArr: [1, 2],
      },
    ],
  ])(
    'converts convertible values to the type %s, keeps the rest, and treats null as absent (r001–r005, U85)',
    (type, expected) => {
      expect(
        start(
          Object.keys(INPUT_VALUES).map((name): Field => [name, type]),
          INPUT_VALUES,
        ),
      ).toEqual(expected);
    },
  );

  it('applies typed defaults for absent values, and omits a field without value and default (r006–r010, U81)', () => {
    expect(
      start(
        [
          ['a', 'string', 'x'],
          ['b', 'boolean', 'true'],
          ['c', 'object', '{"z": 1}'],
          ['d', 'number'],
        ],
        {},
      ),
    ).toEqual({ a: 'x', b: true, c: { z: 1 } });
  });

  it('lets an empty string override a default, but not null (U83, U84)', () => {
    expect(
      start(
        [
          ['a', 'string', 'x'],
          ['b', 'string', 'y'],
        ],
        { a: '', b: null },
      ),
    ).toEqual({ a: '', b: 'y' });
  });

  it('keeps undeclared keys unchanged, after the fields (r012, r021, r094)', () => {
    const output = start([['n', 'number']], { deep: { x: [1, 2] }, q: null, n: '4' });
    expect(Object.entries(output)).toEqual([
      ['n', 4],
      ['deep', { x: [1, 2] }],
      ['q', null],
    ]);
  });

  it('reads fields from `input` before the top level, and keeps `input` unchanged (r013, r014)', () => {
    expect(start([['n', 'number']], { n: '1', input: { n: '2' } })).toEqual({ n: 2, input: { n: '2' } });
  });

  it('ignores an empty `input`, and returns an empty output without input (r016)', () => {
    expect(start([], { input: '' })).toEqual({});
    expect(start([], null)).toEqual({});
    expect(start([], 'text')).toEqual({ input: 'text' });
  });

  it('keeps placeholders and references in data as text (r031)', () => {
    expect(start([], { q: '{{KEY}} <start.x>' })).toEqual({ q: '{{KEY}} <start.x>' });
  });

  it('keeps defaults as authored', () => {
    expect(start([['a', 'string', '{{KEY}} <other.x>']], {})).toEqual({ a: '{{KEY}} <other.x>' });
  });

  it('ignores rows without a usable name (U80)', () => {
    const block = blockOf({
      type: 'start_trigger',
      params: { inputFormat: [{ name: 5 }, { name: ' ' }, 'x', { name: 'ok', type: 'number' }] },
    });
    expect(startOutput(block, { ok: '1' })).toEqual({ ok: 1 });
  });

  it('treats an input key `__proto__` as data', () => {
    const output = start([], JSON.parse('{"__proto__": {"polluted": 1}}') as Json);
    expect(Object.keys(output)).toEqual(['__proto__']);
    expect(Object.getPrototypeOf(output)).toBe(Object.prototype);
  });

  it.each<[string, Field[], Json]>([
    ['in the input format', [['error', 'string']], {}],
    ['at the top of the input', [], { selectedRoute: 'x' }],
  ])('refuses a reserved name %s (r019, U73–U76)', (_where, fields, input) => {
    expect(() => start(fields, input)).toThrow(
      expect.objectContaining({
        code: 'INPUT_INVALID',
        message: expect.stringContaining('"Start"'),
      }) as Error,
    );
  });

  it('normalises files: one becomes a list, a URL gets a name (U71)', () => {
    expect(start([], { files: { url: 'https://x.test/a/b%20c.pdf?v=1' } })).toEqual({
      files: [{ url: 'https://x.test/a/b%20c.pdf?v=1', name: 'b c.pdf' }],
    });
    expect(start([], { files: [{ name: 'n', size: 1 }, 'https://x.test/z.txt'] })).toEqual({
      files: [
        { name: 'n', size: 1 },
        { name: 'z.txt', url: 'https://x.test/z.txt' },
      ],
    });
    expect(start([], { files: null })).toEqual({});
    expect(() => start([], { files: [7] })).toThrow(/files\[0\]/);
  });
});

describe('run metadata', () => {
  const metadataOptions = { params: { runMetadata: true }, metadata: { workflowId: 'w' } };

  it('is set by the engine if enabled, and replaces the metadata of the caller (U88, U89)', () => {
    expect(start([], { metadata: 'forged', a: 1 }, metadataOptions)).toEqual({
      metadata: { workflowId: 'w' },
      a: 1,
    });
  });

  it('does not allow a field named metadata (U90), and is ordinary data if disabled (U91)', () => {
    expect(() => start([['metadata', 'string']], {}, metadataOptions)).toThrow(/"metadata"/);
    expect(start([], { metadata: 'mine' }, { metadata: { workflowId: 'w' } })).toEqual({ metadata: 'mine' });
  });
});

describe('other triggers', () => {
  it.each(['api_trigger', 'input_trigger', 'starter'])(
    '%s returns only its fields, at the top level and in `input` (r025–r027)',
    (type) => {
      expect(start([['n', 'number']], { n: '3', x: 1 }, { type })).toEqual({ n: 3, input: { n: 3 } });
    },
  );

  it('api_trigger without fields returns the raw input, or the value of its `input` (U70)', () => {
    expect(start([], { a: 1 }, { type: 'api_trigger' })).toEqual({ input: { a: 1 } });
    expect(start([], { input: [1], x: 2 }, { type: 'api_trigger' })).toEqual({ input: [1] });
  });

  it('api_trigger also refuses reserved names in `input` (U75)', () => {
    expect(() => start([], { input: { error: 1 } }, { type: 'api_trigger' })).toThrow(/"error"/);
  });

  it.each([{ type: 'chat_trigger' }, { type: 'starter', params: { startWorkflow: 'chat' } }])(
    'a chat start returns input, conversation and files, and allows reserved names (U77–U79)',
    (options) => {
      const input = { input: 'hi', conversationId: 'c', files: [{ name: 'f' }], error: 'x' };
      expect(start([], input, options)).toEqual({ input: 'hi', conversationId: 'c', files: [{ name: 'f' }] });
      expect(start([], 'hi', options)).toEqual({ input: 'hi' });
    },
  );

  it('manual_trigger spreads an object and wraps any other value', () => {
    expect(start([], { a: 1 }, { type: 'manual_trigger' })).toEqual({ a: 1 });
    expect(start([], [1], { type: 'manual_trigger' })).toEqual({ input: [1] });
  });

  it.each(['generic_webhook', 'schedule', 'gmail_v2'])(
    '%s returns its payload, with the values of typed fields converted (T1–T12, U87)',
    (type) => {
      const payload = { webhook: { data: { payload: [1] } }, n: '5', files: 'as sent' };
      expect(start([['n', 'number']], payload, { type })).toEqual({ ...payload, n: 5 });
      expect(start([], {}, { type })).toEqual({});
    },
  );
});
