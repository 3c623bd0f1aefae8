import fc from 'fast-check';
import { beforeAll, describe, it } from 'vitest';
import type * as blocks from '../../packages/core/src/blocks.ts';
import type * as fields from '../../packages/core/src/fields.ts';
import type * as address from '../../packages/engine/src/executors/api/address.ts';
import type * as code from '../../packages/core/src/refs/code.ts';
import type * as names from '../../packages/core/src/refs/names.ts';
import type * as text from '../../packages/core/src/refs/text.ts';
import { sample, scale } from '../support/scale.ts';
import { expectLinear } from './linear.ts';

type Compiler = typeof blocks & typeof fields & typeof address & typeof code & typeof names & typeof text;

let compiler: Compiler;

beforeAll(async () => {
  compiler = {
    ...(await import('../../packages/core/src/blocks.ts')),
    ...(await import('../../packages/core/src/fields.ts')),
    ...(await import('../../packages/engine/src/executors/api/address.ts')),
    ...(await import('../../packages/core/src/refs/code.ts')),
    ...(await import('../../packages/core/src/refs/names.ts')),
    ...(await import('../../packages/core/src/refs/text.ts')),
  };
});

/** Pieces of text that reference compilers read twice, or for which they search the end. */
const TOKENS = [
  '<', '>', '<a.b>', '<a.b', '<nosuch.x>', '<variable.v>', '<variable.vv>', '<loop.index>', '< a.b >', '<<', '<<-E', "<<'E",
  '{', '}', '{{', '{{NAME}}', '{{NA', '}}', '"', "'", '`', '"""', "'''", '${', '\\', '\\\n', '/', '//', '/*', '*/', '#',
  '\n', '\r\n', '\u2028', ' ', '\t', '(', ')', '[', ']', ':', ';', ',', '=', '=>', '+', '-', '.', 'f"', "rb'", 'if(', 'return',
  '$(', '__heddle0_', '(?<', 'E\n', 'é', '\ud83d\ude00',
]; // prettier-ignore

/** Contexts of text that never end. */
const OPENED = ['', '{"a": "', '[', 'https://example.com/?a=', '"', '`', '/', "'", '<<E\n', '/*', 'f"', '{{'];

const fragment = fc
  .array(fc.constantFrom(...TOKENS), { minLength: 1, maxLength: 6 })
  .map((tokens) => tokens.join(''));
const long = fc.record({ before: fragment, again: fragment, behind: fragment });

const lookup: blocks.Lookup = {
  block: () => ({ ran: true, output: { b: 1 } }),
  container: () => undefined,
  results: () => undefined,
  variable: () => 'value',
  env: () => undefined,
  describe: () => ({ name: 'A', type: 'function' }),
};

function reader(): Parameters<Compiler['compileTemplate']>[1] {
  const table = compiler.buildNames(
    [{ id: 'a', name: 'a', type: 'function', enabled: true }],
    [{ id: 'v', name: 'v' }],
  );
  return { names: table, reader: 'a', fieldPosition: 'inside' };
}

/** Ignores the error of a pass that rejects its input. */
function orRefused(pass: () => unknown): void {
  try {
    pass();
  } catch (error) {
    if (!compiler.isBlockError(error)) throw error;
  }
}

const PASSES: { [title: string]: (text: string) => void } = {
  'a field': (given) =>
    void compiler.resolveTemplate(compiler.compileTemplate(given, reader()).template, lookup, 'text'),
  'the JSON of a field': (given) => {
    const { template } = compiler.compileTemplate(given, reader());
    compiler.isJsonText(template);
    compiler.fillJsonText(template, lookup);
    compiler.resolveJson(template, lookup);
  },
  'an address': (given) => {
    const { template } = compiler.compileTemplate(given, reader());
    orRefused(() => compiler.readAddress(template, { lookup, compat: false } as never));
  },
  JavaScript: (given) =>
    void compiler.bindCode(compiler.compileCode(given, 'javascript', reader()).code, lookup),
  Python: (given) => void compiler.bindCode(compiler.compileCode(given, 'python', reader()).code, lookup),
  'a script': (given) => void compiler.bindCode(compiler.compileCode(given, 'shell', reader()).code, lookup),
  'a condition': (given) => {
    const { expression } = compiler.compileExpression(given, reader(), 'condition');
    orRefused(() => compiler.bindExpression(expression, lookup));
  },
};

describe('finding and filling in the references takes time at most proportional to the length', () => {
  it.each(Object.entries(PASSES))('of %s', async (_, pass) => {
    await fc.assert(
      fc.asyncProperty(long, async ({ before, again, behind }) => {
        await expectLinear({ size: 300, make: (n) => before + again.repeat(n) + behind, pass });
      }),
      { numRuns: scale(6, 100), endOnFailure: true },
    );
  });

  const drawn = sample(TOKENS, 10, 'marks in texts with references');

  it.each(Object.entries(PASSES))('of %s, for a repeated mark', async (_, pass) => {
    for (const token of drawn) {
      for (const before of OPENED.slice(0, scale(1, OPENED.length)))
        await expectLinear({ size: 150, make: (n) => before + token.repeat(n), pass });
    }
  });
});
