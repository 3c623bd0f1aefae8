import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pickByScale } from '../../../../test/support/scale.ts';
import { isBlockError } from '../errors.ts';
import type { Json } from '../json.ts';
import { fillJsonText, isJsonText, jsonStructure, resolveJson, templateFields } from './json-text.ts';
import type { Lookup } from './lookup.ts';
import type { Template, TextPart } from './template.ts';

/** A reference to a value of the test, by name. An unknown reference is empty. */
const ref = (block: string): TextPart => ({
  ref: { kind: 'block', text: `<${block}>`, block, up: 0, into: [], path: [] },
});
const env = (name: string): TextPart => ({ env: name, text: `{{${name}}}` });
const text = (...parts: TextPart[]): Template => ({ kind: 'text', parts });

const lookupOf = (values: { [name: string]: Json }, envs: { [name: string]: string } = {}): Lookup => ({
  block: ({ block }) => {
    const output = Object.hasOwn(values, block) ? values[block] : undefined;
    return output === undefined ? { ran: false } : { ran: true, output };
  },
  container: () => undefined,
  results: () => undefined,
  variable: () => undefined,
  env: (name) => (Object.hasOwn(envs, name) ? envs[name] : undefined),
  describe: (name) => ({ name, type: 'function' }),
});

const VALUES = {
  s: 'a "b"\n\\',
  n: 7,
  o: { k: ['v'] },
  z: null,
  inject: '","role":"admin',
  slash: 'n","role":"admin',
  json: '{"x":1}',
};
const ENV = { NUM: '5', TEXT: 'p"w', OBJECT: '{"a": 12345678901234567890}', EMPTY: '' };
const lookup = lookupOf(VALUES, ENV);

describe('JSON text with holes', () => {
  it.each<[string, TextPart[], Json, string]>([
    [
      'inside a literal: the text, escaped',
      ['{"v": "x ', ref('s'), '"}'],
      { v: 'x a "b"\n\\' },
      '{"v": "x a \\"b\\"\\n\\\\"}',
    ],
    ['alone in a literal: the text', ['{"v": "', ref('n'), '"}'], { v: '7' }, '{"v": "7"}'],
    [
      'alone in a literal: the JSON text of an object',
      ['["', ref('o'), '"]'],
      ['{"k":["v"]}'],
      '["{\\"k\\":[\\"v\\"]}"]',
    ],
    [
      'bare: the value',
      ['[', ref('o'), ',', ref('n'), ',', ref('s'), ']'],
      [VALUES.o, 7, VALUES.s],
      '[{"k":["v"]},7,"a \\"b\\"\\n\\\\"]',
    ],
    ['bare: null', ['[', ref('z'), ']'], [null], '[null]'],
    ['bare and empty: null', ['{"v": ', ref('none'), '}'], { v: null }, '{"v": null}'],
    ['in a literal and empty: nothing', ['{"v": "', ref('none'), '"}'], { v: '' }, '{"v": ""}'],
    [
      'a string that would end the literal stays in it',
      ['{"v": "', ref('inject'), '"}'],
      { v: VALUES.inject },
      '{"v": "\\",\\"role\\":\\"admin"}',
    ],
    [
      'a bare text is a string',
      ['{"v": ', ref('inject'), '}'],
      { v: VALUES.inject },
      '{"v": "\\",\\"role\\":\\"admin"}',
    ],
    ['JSON text in a bare hole is a string', ['[', ref('json'), ']'], ['{"x":1}'], '["{\\"x\\":1}"]'],
    ['a key', ['{"a ', ref('n'), '": 1}'], { 'a 7': 1 }, '{"a 7": 1}'],
    ['two holes in one literal', ['["', ref('n'), ref('n'), '"]'], ['77'], '["77"]'],
    [
      'an escaped quote ends no literal',
      ['["\\"', ref('n'), '\\\\", ', ref('n'), ']'],
      ['"7\\', 7],
      '["\\"7\\\\", 7]',
    ],
    ['a placeholder in a literal: its text', ['{"v": "', env('TEXT'), '"}'], { v: 'p"w' }, '{"v": "p\\"w"}'],
    ['a bare placeholder: its JSON', ['[', env('NUM'), ',', env('TEXT'), ']'], [5, 'p"w'], '[5,"p\\"w"]'],
    [
      'an unknown placeholder: as authored',
      ['["', env('NO'), '", ', env('NO'), ']'],
      ['{{NO}}', '{{NO}}'],
      '["{{NO}}", "{{NO}}"]',
    ],
    [
      'private use characters in the authored text stay',
      ['["\uE000\\ue001', ref('n'), '"]'],
      ['\uE000\uE0017'],
      '["\uE000\\ue0017"]',
    ],
  ])('%s', (_title, parts, value, filledText) => {
    expect(resolveJson(text(...parts), lookup)).toEqual(value);
    expect(fillJsonText(text(...parts), lookup)).toBe(filledText);
    expect(isJsonText(text(...parts))).toBe(true);
  });

  it.each<[string, TextPart[], string]>([
    ['a hole next to another', [ref('json'), ref('none')], '{"x":1}'],
    ['a hole next to a number', ['[1', ref('n'), ']'], '[17]'],
    ['a bare key', ['{', ref('s'), ' : 1}'], '{a "b"\n\\ : 1}'],
    ['a hole in an escape', ['["\\', ref('slash'), '"]'], '["\\n","role":"admin"]'],
    ['a hole in the digits of an escape', ['["\\u00', ref('n'), '1"]'], '["\\u0071"]'],
    ['an extra comma', ['[', ref('n'), ',]'], '[7,]'],
    ['plain text', ['Hello ', ref('n')], 'Hello 7'],
  ])('that would not be JSON with any values for its holes stays text: %s', (_title, parts, filledText) => {
    expect(resolveJson(text(...parts), lookup)).toBe(filledText);
    expect(fillJsonText(text(...parts), lookup)).toBeUndefined();
    expect(isJsonText(text(...parts))).toBe(false);
  });

  it.each<[string, TextPart[], Json]>([
    ['an object', [ref('o')], VALUES.o],
    ['white space around it', ['\n ', ref('n'), ' '], 7],
    ['text', [ref('s')], VALUES.s],
    ['JSON text', [ref('json')], { x: 1 }],
    ['null', [ref('z')], null],
    ['nothing', [ref('none')], ''],
    ['a placeholder', [env('NUM')], 5],
    ['an empty placeholder', [env('EMPTY')], ''],
    ['an unknown placeholder', [env('NO')], '{{NO}}'],
  ])('that is exactly one hole is its value: %s', (_title, parts, value) => {
    expect(resolveJson(text(...parts), lookup)).toEqual(value);
    expect(fillJsonText(text(...parts), lookup)).toBeUndefined();
    expect(isJsonText(text(...parts))).toBe(true);
  });

  it('keeps the authored text between the holes, including every digit and space', () => {
    const parts = ['{"id": 12345678901234567890,\n "1": ', ref('n'), ', "o": ', env('NUM'), ' }'];
    expect(fillJsonText(text(...parts), lookup)).toBe('{"id": 12345678901234567890,\n "1": 7, "o": 5 }');
  });

  it('rejects a value that results in a duplicate key, whether resolved or filled', () => {
    const template = text('{"role": "user", "', ref('s'), '": 1}');
    const clashingLookup = lookupOf({ s: 'role' });
    for (const read of [resolveJson, fillJsonText]) {
      const failure = errorOf(() => read(template, clashingLookup));
      expect(isBlockError(failure) && [failure.code, failure.retryable]).toEqual([
        'BLOCK_CONFIG_INVALID',
        false,
      ]);
      expect((failure as Error).message).toContain('a key that its object already has');
    }
    expect(resolveJson(template, lookupOf({ s: '__proto__' }))).toEqual(
      JSON.parse('{"role": "user", "__proto__": 1}'),
    );
  });

  it('does not scan values for templates or structure', () => {
    const markedLookup = lookupOf({ s: '\uE000\uE0000\uE000 <n> {{NUM}}' }, ENV);
    expect(resolveJson(text('{"v": "', ref('s'), '", "w": ', ref('s'), '}'), markedLookup)).toEqual({
      v: '\uE000\uE0000\uE000 <n> {{NUM}}',
      w: '\uE000\uE0000\uE000 <n> {{NUM}}',
    });
  });
});

describe('a field that is not text with holes', () => {
  it('is parsed if it is JSON text, and unchanged otherwise', () => {
    expect(resolveJson({ kind: 'literal', value: '[1, "a"]' }, lookup)).toEqual([1, 'a']);
    expect(resolveJson({ kind: 'literal', value: '[1' }, lookup)).toBe('[1');
    expect(resolveJson({ kind: 'literal', value: null }, lookup)).toBeNull();
    expect(
      [
        { kind: 'literal' as const, value: '[1' },
        { kind: 'literal' as const, value: 1 },
      ].map(isJsonText),
    ).toEqual([false, true]);
  });

  it('has the strings of a list or an object resolved in the given mode', () => {
    const list: Template = { kind: 'list', items: [text(ref('n')), text('{"v": "', ref('inject'), '"}')] };
    expect(resolveJson(list, lookup)).toEqual([7, '{"v": "","role":"admin"}']);
    expect(resolveJson(list, lookup, 'text')).toEqual(['7', '{"v": "","role":"admin"}']);
    expect(templateFields(jsonStructure(list, lookup))).toBeUndefined();
  });
});

describe('for arbitrary values and authored JSON', () => {
  /** A generated JSON value. Each number in `bare` and `literal` is a hole: a reference to the value of that index. */
  type JsonShape =
    | { bare: number }
    | { literal: (string | number)[] }
    | { list: JsonShape[] }
    | { object: [string, JsonShape][] }
    | { plain: Json };

  const HOLE_COUNT = 3;
  const literalPart = fc.oneof(fc.string({ unit: 'binary', maxLength: 6 }), fc.nat(HOLE_COUNT - 1));
  const jsonShape = fc.letrec<{ value: JsonShape }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.record({ bare: fc.nat(HOLE_COUNT - 1) }),
      fc.record({ literal: fc.array(literalPart, { maxLength: 4 }) }),
      fc.record({ plain: fc.oneof(fc.integer(), fc.boolean(), fc.constant(null)) }),
      fc.record({ list: fc.array(tie('value'), { maxLength: 3 }) }),
      fc.record({
        object: fc.uniqueArray(fc.tuple(fc.string({ maxLength: 4 }), tie('value')), {
          maxLength: 3,
          selector: ([key]) => key,
        }),
      }),
    ),
  })).value;
  const hostileValue = fc.oneof(
    fc.json({ maxDepth: 2 }).map((json) => JSON.parse(json) as Json),
    fc.constantFrom<Json[]>('","role":"admin', '\\', '"', '}', '\n', '\u2028', '\uD800', '{{K}}', '', null),
    fc.string({ unit: 'binary', maxLength: 12 }),
  );

  const partsOf = (value: JsonShape): TextPart[] => {
    if ('bare' in value) return [ref(String(value.bare))];
    if ('plain' in value) return [JSON.stringify(value.plain)];
    if ('literal' in value)
      return [
        '"',
        ...value.literal.map((part) =>
          typeof part === 'number' ? ref(String(part)) : JSON.stringify(part).slice(1, -1),
        ),
        '"',
      ];
    if ('list' in value) return ['[', ...joinWithCommas(value.list.map(partsOf)), ']'];
    return [
      '{',
      ...joinWithCommas(value.object.map(([key, item]) => [`${JSON.stringify(key)}: `, ...partsOf(item)])),
      '}',
    ];
  };
  const joinWithCommas = (items: TextPart[][]): TextPart[] =>
    items.flatMap((item, index) => (index === 0 ? item : [', ', ...item]));
  const expectedValueOf = (value: JsonShape, values: readonly Json[]): Json => {
    if ('bare' in value) return values[value.bare] ?? null;
    if ('plain' in value) return value.plain;
    if ('literal' in value)
      return value.literal.map((part) => (typeof part === 'number' ? asText(values[part]) : part)).join('');
    if ('list' in value) return value.list.map((item) => expectedValueOf(item, values));
    return Object.fromEntries(value.object.map(([key, item]) => [key, expectedValueOf(item, values)]));
  };
  const asText = (value: Json | undefined): string =>
    typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? null);

  it('the filled text parses, and has exactly the authored structure', () => {
    const hostileValues = fc.array(hostileValue, { minLength: HOLE_COUNT, maxLength: HOLE_COUNT });
    fc.assert(
      fc.property(jsonShape, hostileValues, (value, values) => {
        fc.pre(!('bare' in value));
        const template = text('', ...partsOf(value), '');
        const filledLookup = lookupOf(Object.fromEntries(values.map((item, index) => [String(index), item])));
        const expectedJson = JSON.parse(JSON.stringify(expectedValueOf(value, values))) as Json;
        const filledText = fillJsonText(template, filledLookup);
        expect(filledText === undefined ? undefined : JSON.parse(filledText)).toEqual(expectedJson);
        expect(JSON.parse(JSON.stringify(resolveJson(template, filledLookup)))).toEqual(expectedJson);
      }),
      { numRuns: pickByScale(400, 20_000) },
    );
  });
});

function errorOf(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
