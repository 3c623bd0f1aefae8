import { describe, expect, it } from 'vitest';
import { bindExpression } from './bind.ts';
import { compileExpression } from './code.ts';
import type { Json } from '../json.ts';
import type { Lookup } from './lookup.ts';
import { buildNames } from './names.ts';
import type { ExpressionKind } from './template.ts';

const names = buildNames([{ id: 's', name: 'start', type: 'start_trigger', enabled: true }], []);
const context = { names, blockId: 's', fieldPosition: 'ordinary' as const };

function lookup(q: Json | undefined, env: Record<string, string>): Lookup {
  return {
    block: () => (q === undefined ? { ran: false } : { ran: true, output: { q } }),
    container: () => undefined,
    results: () => undefined,
    variable: () => undefined,
    env: (name) => env[name],
    describe: () => ({ name: 'start', type: 'start_trigger' }),
  };
}

type AsyncFunctionConstructor = new (...source: string[]) => (...values: unknown[]) => Promise<unknown>;
const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor as AsyncFunctionConstructor;

async function evaluate(
  authored: string,
  kind: ExpressionKind,
  q?: Json,
  env: Record<string, string> = {},
): Promise<unknown> {
  const { expression } = compileExpression(authored, context, kind);
  const { code, values } = bindExpression(expression, lookup(q, env));
  const args = Object.values(values).map((json) => JSON.parse(json) as unknown);
  return new AsyncFunction(...Object.keys(values), `return (${code})`)(...args);
}

describe.each<ExpressionKind>(['condition', 'loop'])('a %s expression', (kind) => {
  it.each<[string, Json, unknown]>([
    ['<start.q> === "it\'s"', "it's", true],
    ['<start.q>.length === 5', 'a"b"c', true],
    ['<start.q>.includes("\\n")', 'a\nb', true],
    ['<start.q> === "z"', 'x" || true || "', false],
    ['<start.q> > 5', '10', true],
    ['<start.q> === null', null, true],
    ['<start.q>.a === 1', { a: 1 }, true],
    ['<start.q.a.b> === 2', { a: { b: 2 } }, true],
    ['/^a+$/.test(<start.q>)', 'aaa', true],
    ['!<start.q>', 0, true],
    ['<start.q><3 && 5><start.q>', 2, true],
    ['<start.q> < <start.q.length>', 1, false],
    ['<start.none> === null', {}, true],
    ['await <start.q> === 1', 1, true],
  ])('%s with %j is %s', async (authored, q, expected) => {
    expect(await evaluate(authored, kind, q)).toBe(expected);
  });

  it('has null for a reference to a block that did not run', async () => {
    expect(await evaluate('<start.q> === null', kind)).toBe(true);
  });

  it.each([
    'true // yes',
    '/* <start.q> */ true',
    'true;',
    ' true ; // <loop.foo> `\n ; ',
    'true /* a\n;b */;;',
  ])('%j may have comments and a semicolon at the end', async (authored) => {
    expect(await evaluate(authored, kind, 1)).toBe(true);
  });

  it.each(['', '   ', ';', ' // nothing\n', '/* <start.q> */'])('%j has no code', (authored) => {
    expect(compileExpression(authored, context, kind).expression).toEqual({
      authored,
      code: '',
      bindings: [],
    });
  });

  it('keeps its lines', () => {
    const authored = '<start.q> // a\n  && /* b\nc */ <start.q>';
    expect(compileExpression(authored, context, kind).expression.code.split('\n')).toHaveLength(3);
  });
});

describe('a reference inside quotes', () => {
  it('is reported, unlike one outside quotes or in a comment', () => {
    const { findings } = compileExpression(
      '"<start.q>" === <start.q> + `<start.q>` // "<start.q>"',
      context,
      'condition',
    );
    expect(findings.map(({ kind, syntaxPosition, offset }) => [kind, syntaxPosition, offset])).toEqual([
      ['quoted-reference', 'string', 1],
      ['quoted-reference', 'string', 29],
    ]);
  });

  it.each<[string, Json, string]>([
    ['"<start.q>"', 'y', "'y'"],
    ['`<start.q>`', 'y', "'y'"],
    ['"<start.q>"', "it's \\ \n \u2028", "'it's \\ \n \u2028'"],
    ['"<start.q>"', 5, '5'],
    ["'<start.q>'", 5, '5'],
    ["'<start.q>'", null, 'null'],
    ["'<start.q>'", { a: 'x"y\n' }, '{"a":"x"y\n"}'],
    ['"a <start.q> b"', 'y', "a 'y' b"],
    ['"<start.q>".length', 'y', '3'],
  ])(
    'of a condition, %s with %j means the same as the written literal (r087, r119)',
    async (authored, q, expected) => {
      expect(String(await evaluate(authored, 'condition', q))).toBe(expected);
    },
  );

  it.each<[string, Json, string]>([
    ["'<start.q>'", 'go', '"go"'],
    ['"<start.q>"', 'true', 'true'],
    ['`<start.q>`', 'a"b\n', '"a"b\n"'],
  ])('of a loop, %s with %j means the same as the written literal', async (authored, q, expected) => {
    expect(await evaluate(authored, 'loop', q)).toBe(expected);
  });

  it.each<[ExpressionKind, string, Json]>([
    ['condition', "'<start.q>' === 'y'", 'y'],
    ['condition', '"<start.q>" === "z"', 'x" || true || "'],
    ['condition', '"<start.q>" === "z"', { a: 1 }],
    ['condition', '`<start.q>`', '${1}'],
    ['condition', '`<start.q>`', 'a`b'],
    ['loop', '"<start.q>" === "go"', 'go'],
    ['loop', "'<start.q>'", "it's"],
  ])(
    'fails in a %s, %s with %j, where the value would end the quotes (r088, r513)',
    async (kind, authored, q) => {
      await expect(evaluate(authored, kind, q)).rejects.toMatchObject({
        code: 'EXPRESSION_FAILED',
        message: expect.stringContaining('Remove the quotes around <start.q>') as string,
      });
    },
  );
});

describe('strings that look like booleans', () => {
  it('are booleans in loop expressions', async () => {
    expect(await evaluate('<start.q> === false', 'loop', 'false')).toBe(true);
    expect(await evaluate('<start.q> === true', 'loop', 'true')).toBe(true);
    expect(await evaluate('<start.q>', 'loop', 'TRUE')).toBe('TRUE');
  });

  it('are strings in conditions (r092)', async () => {
    expect(await evaluate('<start.q>', 'condition', 'false')).toBe('false');
  });
});

describe.each<ExpressionKind>(['condition', 'loop'])('a placeholder in a %s', (kind) => {
  it.each<[string, unknown]>([
    ['7', 7],
    [' -2.5e3 ', -2500],
    ['true', true],
    ['false', false],
    ['null', null],
    ['w', 'w'],
    ['', ''],
    ['007', '007'],
    ['1e999', '1e999'],
    ['0x10', '0x10'],
    ['"x"', '"x"'],
    ['1; evil()', '1; evil()'],
    ['a" || true || "', 'a" || true || "'],
  ])('is bound: the text %j is %j (V1-V5)', async (text, expected) => {
    expect(await evaluate('{{N}}', kind, null, { N: text })).toBe(expected);
  });

  it('inside quotes is its text, and the literal stays one literal (r143)', async () => {
    expect(
      await evaluate('{{N}} > 5 && "{{W}}" === "w" && {{W}} === "w"', kind, null, { N: '7', W: 'w' }),
    ).toBe(true);
    expect(await evaluate('"{{N}}".length + "x{{W}}".length', kind, null, { N: '7', W: 'w' })).toBe(3);
  });

  it('of an unknown name stays (r144) and is a syntax error outside quotes (r510)', async () => {
    expect(await evaluate('"{{NOPE}}".length > 0', kind)).toBe(true);
    await expect(evaluate('{{NOPE}}', kind)).rejects.toThrow(SyntaxError);
  });

  it('is not trimmed', async () => {
    expect(await evaluate('"{{ K }}"', kind, null, { K: 'v' })).toBe('{{ K }}');
  });
});

describe('findings in expressions', () => {
  it('an unknown root is found as in code (r126)', () => {
    expect(compileExpression('<nosuch.result> > 1', context, 'condition').findings).toMatchObject([
      { kind: 'unknown-block', name: 'nosuch', syntaxPosition: 'code' },
    ]);
    expect(compileExpression('1 < 2 && 3 > 2', context, 'condition').findings).toEqual([]);
  });
});
