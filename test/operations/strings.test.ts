import fc from 'fast-check';
import { beforeAll, describe, it } from 'vitest';
import type * as blocks from '../../packages/core/src/blocks.ts';
import type * as fields from '../../packages/core/src/fields.ts';
import type * as url from '../../packages/engine/src/executors/api/url.ts';
import type * as code from '../../packages/core/src/refs/code.ts';
import type * as names from '../../packages/core/src/refs/names.ts';
import type * as text from '../../packages/core/src/refs/text.ts';
import { sample, pickByScale } from '../support/scale.ts';
import { expectLinear } from './linear.ts';

type Compiler = typeof blocks & typeof fields & typeof url & typeof code & typeof names & typeof text;

let compiler: Compiler;

beforeAll(async () => {
  compiler = {
    ...(await import('../../packages/core/src/blocks.ts')),
    ...(await import('../../packages/core/src/fields.ts')),
    ...(await import('../../packages/engine/src/executors/api/url.ts')),
    ...(await import('../../packages/core/src/refs/code.ts')),
    ...(await import('../../packages/core/src/refs/names.ts')),
    ...(await import('../../packages/core/src/refs/text.ts')),
  };
});

/** Tokens that the compiler of references might read more than once, or whose end it searches for. */
const TOKENS = [
  '<', '>', '<a.b>', '<a.b', '<nosuch.x>', '<variable.v>', '<variable.vv>', '<loop.index>', '< a.b >', '<<', '<<-E', "<<'E",
  '{', '}', '{{', '{{NAME}}', '{{NA', '}}', '"', "'", '`', '"""', "'''", '${', '\\', '\\\n', '/', '//', '/*', '*/', '#',
  '\n', '\r\n', '\u2028', ' ', '\t', '(', ')', '[', ']', ':', ';', ',', '=', '=>', '+', '-', '.', 'f"', "rb'", 'if(', 'return',
  '$(', '__heddle0_', '(?<', 'E\n', 'é', '\ud83d\ude00',
]; // prettier-ignore

/** Starts of constructs that never end. */
const UNCLOSED_PREFIXES = [
  '',
  '{"a": "',
  '[',
  'https://example.com/?a=',
  '"',
  '`',
  '/',
  "'",
  '<<E\n',
  '/*',
  'f"',
  '{{',
];

const fragment = fc
  .array(fc.constantFrom(...TOKENS), { minLength: 1, maxLength: 6 })
  .map((tokens) => tokens.join(''));
const repetition = fc.record({ prefix: fragment, repeatedPart: fragment, suffix: fragment });

const lookup: blocks.Lookup = {
  block: () => ({ ran: true, output: { b: 1 } }),
  container: () => undefined,
  results: () => undefined,
  variable: () => 'value',
  env: () => undefined,
  describe: () => ({ name: 'A', type: 'function' }),
};

function createContext(): Parameters<Compiler['compileTemplate']>[1] {
  const table = compiler.buildNames(
    [{ id: 'a', name: 'a', type: 'function', enabled: true }],
    [{ id: 'v', name: 'v' }],
  );
  return { names: table, blockId: 'a', fieldPosition: 'ordinary' };
}

/** Ignores the error of a pass that rejects its input. */
function ignoreBlockError(pass: () => unknown): void {
  try {
    pass();
  } catch (error) {
    if (!compiler.isBlockError(error)) throw error;
  }
}

const PASSES: { [title: string]: (text: string) => void } = {
  'a field': (input) =>
    void compiler.resolveTemplate(compiler.compileTemplate(input, createContext()).template, lookup, 'text'),
  'the JSON of a field': (input) => {
    const { template } = compiler.compileTemplate(input, createContext());
    compiler.isJsonText(template);
    compiler.fillJsonText(template, lookup);
    compiler.resolveJson(template, lookup);
  },
  'a URL': (input) => {
    const { template } = compiler.compileTemplate(input, createContext());
    ignoreBlockError(() => compiler.readUrl(template, { lookup, compat: false } as never));
  },
  JavaScript: (input) =>
    void compiler.bindCode(compiler.compileCode(input, 'javascript', createContext()).code, lookup),
  Python: (input) =>
    void compiler.bindCode(compiler.compileCode(input, 'python', createContext()).code, lookup),
  'a script': (input) =>
    void compiler.bindCode(compiler.compileCode(input, 'shell', createContext()).code, lookup),
  'a condition': (input) => {
    const { expression } = compiler.compileExpression(input, createContext(), 'condition');
    ignoreBlockError(() => compiler.bindExpression(expression, lookup));
  },
};

describe('finding and resolving references takes time at most proportional to the length', () => {
  it.each(Object.entries(PASSES))('of %s', async (_, pass) => {
    await fc.assert(
      fc.asyncProperty(repetition, async ({ prefix, repeatedPart, suffix }) => {
        await expectLinear({ size: 300, make: (n) => prefix + repeatedPart.repeat(n) + suffix, run: pass });
      }),
      { numRuns: pickByScale(6, 100), endOnFailure: true },
    );
  });

  const sampledTokens = sample(TOKENS, 10, 'tokens in strings with references');

  it.each(Object.entries(PASSES))('of %s with a repeated token', async (_, pass) => {
    for (const token of sampledTokens) {
      for (const prefix of UNCLOSED_PREFIXES.slice(0, pickByScale(1, UNCLOSED_PREFIXES.length)))
        await expectLinear({ size: 150, make: (n) => prefix + token.repeat(n), run: pass });
    }
  });
});
