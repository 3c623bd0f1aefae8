import { describe, expect, it } from 'vitest';
import type { Json, JsonObject, VariableConfig } from '@heddle/core/blocks';
import { contextOf, failureOf } from '../../../../test/support/block.ts';
import type { BlockFixture } from '../../../../test/support/block.ts';
import { variablesExecutor } from './variables.ts';

const variables: VariableConfig[] = [
  { id: 'var-n', name: 'n', type: 'number', value: 1 },
  { id: 'var-s', name: 's', type: 'string', value: 'x' },
  { id: 'var-b', name: 'b', type: 'boolean', value: false },
  { id: 'var-o', name: 'o', type: 'object', value: { k: 1 } },
  { id: 'var-l', name: 'l', type: 'array', value: [1] },
  { id: 'var-p', name: 'p', type: 'plain', value: 'plain' },
];

const createRow = (name: string, type: string, value: Json): JsonObject => ({
  id: name,
  isExisting: true,
  variableId: `var-${name}`,
  variableName: name,
  type,
  value,
});

const assign = (rows: Json, fixture: BlockFixture = {}): unknown =>
  variablesExecutor.execute(
    contextOf({ type: 'variables', params: { variables: rows }, variables, ...fixture }),
  );

describe('JSON text in a row', () => {
  const outputs = { Q: { v: '","role":"admin', open: '{', close: '}' } };

  it('keeps its structure whatever the values contain, even if the list of rows is JSON text too', () => {
    const rows = [
      createRow('o', 'object', '{"k": "<q.v>", "n": <q.v>}'),
      createRow('l', 'array', '["<q.v>"]'),
    ];
    const output = { o: { k: outputs.Q.v, n: outputs.Q.v }, l: [outputs.Q.v] };
    expect(assign(rows, { outputs })).toMatchObject({ output });
    expect(assign(JSON.stringify(rows), { outputs })).toMatchObject({ output });
  });

  it('is refused if only the values make it JSON', async () => {
    const rows = [createRow('o', 'object', '<q.open><q.close>')];
    expect(await failureOf(() => assign(rows, { outputs }))).toMatchObject({ code: 'VARIABLE_INVALID' });
  });

  it('stays text in a row of the type string', () => {
    expect(assign([createRow('s', 'string', '{"k": "<q.v>"}')], { outputs })).toMatchObject({
      output: { s: '{"k": "","role":"admin"}' },
    });
  });
});

describe('a variables block', () => {
  it('sets a value of each type, and returns one key per row (r238)', () => {
    const rows = [
      createRow('n', 'number', '9'),
      createRow('s', 'string', 'new'),
      createRow('b', 'boolean', 'true'),
      createRow('o', 'object', '{"z": [1]}'),
      createRow('l', 'array', '["a"]'),
      createRow('p', 'plain', ' p p '),
    ];
    const output = { n: 9, s: 'new', b: true, o: { z: [1] }, l: ['a'], p: ' p p ' };
    const set = Object.fromEntries(Object.entries(output).map(([name, value]) => [`var-${name}`, value]));
    expect(assign(rows)).toEqual({ output, set });
  });

  it('keeps the type of a reference, and joins references with text around them (r239)', () => {
    const outputs = { Q: { result: { n: 5, b: true, o: { d: { e: 1 } }, l: [{ x: 1 }] } } };
    const rows = [
      createRow('n', 'number', '<q.result.n>'),
      createRow('b', 'boolean', '<q.result.b>'),
      createRow('o', 'object', '<q.result.o>'),
      createRow('l', 'array', '<q.result.l>'),
      createRow('p', 'plain', 'n is <q.result.n>'),
      createRow('s', 'string', '<q.result.o>'),
    ];
    expect(assign(rows, { outputs })).toMatchObject({
      output: { n: 5, b: true, o: { d: { e: 1 } }, l: [{ x: 1 }], p: 'n is 5', s: '{"d":{"e":1}}' },
    });
  });

  it.each<[string, Json]>([
    ['number', 0],
    ['boolean', false],
    ['object', {}],
    ['array', []],
    ['string', ''],
  ])('converts empty text and null to the default value of the type %s (r248–r262)', (type, emptyValue) => {
    const name = type[0] === 'a' ? 'l' : type[0]!;
    for (const value of ['', null])
      expect(assign([createRow(name, type, value)])).toMatchObject({ output: { [name]: emptyValue } });
  });

  it.each<[string, string, Json]>([
    ['n', 'number', 'abc'],
    ['b', 'boolean', 'maybe'],
    ['b', 'boolean', 1],
    ['o', 'object', 'nope'],
    ['l', 'array', '[1'],
    ['n', 'number', [5]],
  ])('for %s in a row of type %s, refuses the value %j (r245, r247)', async (name, type, value) => {
    expect(await failureOf(() => assign([createRow(name, type, value)]))).toMatchObject({
      code: 'VARIABLE_INVALID',
      message: expect.stringContaining(`"${name}"`) as string,
    });
  });

  it.each<[string, string, Json, Json]>([
    ['n', 'number', ' 7 ', 7],
    ['b', 'boolean', 'TRUE', true],
    ['p', 'plain', '5', '5'],
  ])('for %s in a row of type %s, accepts the value %j (r257, r258, r260)', (name, type, value, expected) => {
    expect(assign([createRow(name, type, value)])).toMatchObject({ output: { [name]: expected } });
  });

  it('outputs a value of the type of the row, and stores one of the type of the variable (r250, r252, r711)', () => {
    expect(assign([createRow('o', 'object', '[1]')])).toEqual({ output: { o: [1] }, set: { 'var-o': [1] } });
    expect(assign([createRow('l', 'array', '{"a":1}')])).toEqual({
      output: { l: { a: 1 } },
      set: { 'var-l': [{ a: 1 }] },
    });
    expect(assign([createRow('n', 'string', '"12"')])).toEqual({
      output: { n: '"12"' },
      set: { 'var-n': 12 },
    });
    expect(assign([createRow('o', 'string', 'five')])).toEqual({
      output: { o: 'five' },
      set: { 'var-o': { value: 'five' } },
    });
  });

  it('resolves all rows with the values before the block, and the last of two equal rows wins (r243, r244)', () => {
    const rows = [
      createRow('n', 'number', '2'),
      createRow('p', 'plain', '<variable.n>'),
      createRow('n', 'number', '3'),
    ];
    expect(assign(rows)).toMatchObject({ output: { n: 3, p: '1' }, set: { 'var-n': 3 } });
  });

  it('returns an unknown variable only in the output, and looks up by name if the id is unknown (S2)', () => {
    expect(
      assign([
        { variableName: 'ghost', type: 'string', value: 'v' },
        { variableId: 'gone', variableName: 's', type: 'string', value: 'w' },
      ]),
    ).toEqual({ output: { ghost: 'v', s: 'w' }, set: { 'var-s': 'w' } });
  });

  it('accepts names such as __proto__ and constructor (S3–S5)', () => {
    const result = assign([
      { variableName: '__proto__', value: 'a' },
      { variableName: 'constructor', value: 'b' },
    ]) as { output: JsonObject };
    expect(Object.entries(result.output)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]);
    expect(Object.getPrototypeOf(result.output)).toBe(Object.prototype);
  });

  it('never treats data as a template (r660)', () => {
    expect(
      assign([createRow('s', 'string', '<q.v>')], {
        outputs: { Q: { v: '{{KEY}} <q.v>' } },
        env: { KEY: 'secret' },
      }),
    ).toMatchObject({ output: { s: '{{KEY}} <q.v>' } });
  });

  it('sets nothing for an empty or absent list (r275), and fails for any other value', async () => {
    expect(assign([])).toEqual({ output: {}, set: {} });
    expect(assign(null)).toEqual({ output: {}, set: {} });
    expect(await failureOf(() => assign('{oops'))).toMatchObject({ code: 'BLOCK_CONFIG_INVALID' });
  });
});
