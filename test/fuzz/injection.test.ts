import { createContext, Script } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isBlockError } from '../../packages/core/src/errors.ts';
import type { Json } from '../../packages/core/src/json.ts';
import { bindCode, bindExpression } from '../../packages/core/src/refs/bind.ts';
import type { BoundCode } from '../../packages/core/src/refs/bind.ts';
import { compileCode, compileExpression } from '../../packages/core/src/refs/code.ts';
import { pickByScale } from '../support/scale.ts';
import { context, hostileText, hostileValue, createLookup, textOf } from './hostile-values.ts';

const runOptions = { numRuns: pickByScale(500, 50_000) };

/** A separate realm (a context with its own globals), in which `boom` counts how often a value ran as code. */
const realm = createContext({ booms: 0 });
evaluate('globalThis.boom = () => { booms++; return "boom"; }');
const globalNames = readGlobalNames();

function evaluate(script: string): unknown {
  return new Script(script).runInContext(realm) as unknown;
}

function readGlobalNames(): string {
  return evaluate(
    'JSON.stringify([globalThis, Object.prototype, Array.prototype, String.prototype].map((object) => Reflect.ownKeys(object).map(String)))',
  ) as string;
}

/** Evaluates the code as a script, with its values as arguments. Returns the JSON of its result. */
async function run({ code, values }: BoundCode): Promise<string> {
  const names = Object.keys(values);
  const compiledFunction = evaluate(`(async (${names.join(', ')}) => {${code}\n})`) as (
    ...args: Json[]
  ) => Promise<Json>;
  const args = names.map((name) => JSON.parse(values[name] as string) as Json);
  return JSON.stringify(await compiledFunction(...args));
}

/** Expects that only the author's code was evaluated, and that it added no global names. */
function expectNoInjection(): void {
  expect(evaluate('booms')).toBe(0);
  expect(readGlobalNames()).toBe(globalNames);
}

type ExpressionCase = readonly [source: string, resultOf: (value: Json) => Json];

const toJsonText = (value: Json): Json => JSON.stringify(value);
const identity = (value: Json): Json => value;

/** Expressions with references. Each has a function that returns its expected result for a value of the references. */
const EXPRESSION_CASES: readonly ExpressionCase[] = [
  ...['<p>', '<variable.v>', '(<p>)', '[<p>][0]', '(() => <p>)()', '{ k: <p> }.k'].map(
    (source): ExpressionCase => [source.startsWith('{') ? `(${source})` : source, identity],
  ),
  ...['"<p>"', "'<p>'", '`<p>`', '`${"<p>"}`', "`${`${'<p>'}`}`", '("<p>")'].map((source): ExpressionCase => [
    source,
    toJsonText,
  ]),
  ...['{{K}}', '"{{K}}"', "'{{K}}'", '`{{K}}`', '`${{{K}}}`', '({ k: {{K}} }).k'].map(
    (source): ExpressionCase => [source, textOf],
  ),
  ['"a\\"<p>b"', (value) => `a"${JSON.stringify(value)}b`],
  ["'\\\\<p>'", (value) => `\\${JSON.stringify(value)}`],
  [
    '`<p>${JSON.stringify(<p>)}\\`{{K}}`',
    (value) => `${`${toJsonText(value) as string}`.repeat(2)}\`${textOf(value)}`,
  ],
  [
    '"<p>{{K}}<variable.v>"',
    (value) => `${toJsonText(value) as string}${textOf(value)}${toJsonText(value) as string}`,
  ],
  ['1 /* <p> {{K}} " */', () => 1],
  ['2 // <p> {{K}} `\n', () => 2],
];

const SEPARATORS = [', ', ',\n', ', /* " */ ', ",// '\n", ', /["`]/.test(""), '];

describe('a hostile value', () => {
  it('is unchanged at every position in code, and is not evaluated', async () => {
    const caseSequences = fc.array(
      fc.tuple(fc.constantFrom(...EXPRESSION_CASES), fc.constantFrom(...SEPARATORS)),
      {
        minLength: 1,
        maxLength: 6,
      },
    );
    await fc.assert(
      fc.asyncProperty(caseSequences, hostileValue, async (sequence, value) => {
        const itemsCode = sequence.map(([[source], separator]) => source + separator).join('');
        const { code } = compileCode(`return [${itemsCode}0]`, 'javascript', context);
        const expected = sequence.flatMap(([[, resultOf], separator]): Json[] =>
          separator.includes('test') ? [resultOf(value), false] : [resultOf(value)],
        );
        expect(await run(bindCode(code, createLookup(value)))).toBe(JSON.stringify([...expected, 0]));
        expect(evaluate('booms')).toBe(0);
      }),
      runOptions,
    );
    expectNoInjection();
  });

  it.each(['condition', 'loop'] as const)('is unchanged by an expression (%s)', async (kind) => {
    const { expression } = compileExpression(
      '[<p>, "{{K}}", `{{K}}`, (<variable.v>)] // <p>\n',
      context,
      kind,
    );
    const booleansByText = new Map<Json, Json>(
      kind === 'loop'
        ? [
            ['true', true],
            ['false', false],
          ]
        : [],
    );
    await fc.assert(
      fc.asyncProperty(hostileValue, async (value) => {
        const { code, values } = bindExpression(expression, createLookup(value));
        const unquotedValue = booleansByText.get(value) ?? value;
        expect(await run({ code: `return (${code})`, values })).toBe(
          JSON.stringify([unquotedValue, textOf(value), textOf(value), unquotedValue]),
        );
        expect(evaluate('booms')).toBe(0);
      }),
      runOptions,
    );
    expectNoInjection();
  });

  it.each([
    ['condition', "'"],
    ['loop', '"'],
  ] as const)(
    'in quotes of an expression becomes part of the string, or fails the block (%s)',
    async (kind, addedQuote) => {
      const cases = ['"', "'", '`'].map((ownQuote) => ({
        ownQuote,
        expression: compileExpression(`${ownQuote}<p>${ownQuote}`, context, kind).expression,
      }));
      let evaluatedCount = 0;
      await fc.assert(
        fc.asyncProperty(fc.constantFrom(...cases), hostileValue, async ({ ownQuote, expression }, value) => {
          let bound: BoundCode;
          try {
            bound = bindExpression(expression, createLookup(value));
          } catch (error) {
            expect(isBlockError(error) && error.code).toBe('EXPRESSION_FAILED');
            return;
          }
          evaluatedCount++;
          const isInserted = typeof value === 'string' && !(kind === 'loop' && /^(true|false)$/.test(value));
          const resultJson = await run({ ...bound, code: `return ${bound.code}` });
          if (isInserted) {
            expect(`${addedQuote}${value}`.includes(ownQuote), 'the value would end the string').toBe(false);
            expect(resultJson).toBe(JSON.stringify(`${addedQuote}${value}${addedQuote}`));
          }
          expect(typeof JSON.parse(resultJson)).toBe('string');
          expect(evaluate('booms')).toBe(0);
        }),
        runOptions,
      );
      expect(evaluatedCount).toBeGreaterThan(runOptions.numRuns / 10);
      expectNoInjection();
    },
  );

  it('is not evaluated in any code, valid or invalid', async () => {
    const authoredCode = fc
      .array(
        fc.oneof(
          hostileText,
          fc.constantFrom('/<p>/', 'f`<p>`', '<p>.x', '"<p>', '`<p>${', 'x = "<p>"', '\\u003cp>'),
        ),
        {
          maxLength: 4,
        },
      )
      // Removes `boom` from the author's text, which is code and may run. Values may not.
      .map((parts) => parts.join(' ').replaceAll('boom', 'calm'));
    let completedCount = 0;
    await fc.assert(
      fc.asyncProperty(authoredCode, hostileValue, async (text, value) => {
        const { code } = compileCode(`"use strict"; return [${text}]`, 'javascript', context);
        const outcome = await run(bindCode(code, createLookup(value))).catch((error: unknown) => error);
        completedCount += typeof outcome === 'string' ? 1 : 0;
        expect(evaluate('booms')).toBe(0);
      }),
      runOptions,
    );
    expect(completedCount).toBeGreaterThan(runOptions.numRuns / 20);
    expectNoInjection();
  });
});

describe('the check for injections', () => {
  it('detects a value that is inserted into the code', async () => {
    await run({ code: `return "${'"+boom()+"'}"`, values: {} });
    expect(evaluate('booms')).toBe(1);
    evaluate('booms = 0');
  });
});
