import { describe, expect, it } from 'vitest';
import { code, condition, start, workflowFile } from '../../../../test/support/workflow-file.ts';
import type { BlockSettings } from '../../../../test/support/workflow-file.ts';
import { parseWorkflow } from '../schema/parse.ts';
import { checkWorkflow } from './compile.ts';
import type { Diagnostic } from './diagnostics.ts';

/** Returns the syntax diagnostics of `block`, which follows a block named Fetch. */
function syntaxDiagnostics(block: BlockSettings): Pick<Diagnostic, 'severity' | 'path' | 'message'>[] {
  const innerBlocks: { [id: string]: BlockSettings } =
    block.type === 'loop' || block.type === 'parallel' ? { in: code('', { parentId: 'b' }) } : {};
  const file = workflowFile({
    blocks: {
      s: start(),
      f: code('return 1', { name: 'Fetch' }),
      b: { name: 'Work', ...block },
      ...innerBlocks,
    },
    edges: [
      's > f',
      'f > b',
      ...Object.keys(innerBlocks).map((id) => `b:${block.type}-start-source > ${id}`),
    ],
  });
  return checkWorkflow(parseWorkflow(file).workflow!)
    .filter((diagnostic) => diagnostic.code === 'SYNTAX_INVALID')
    .map(({ severity, path, message }) => ({ severity, path, message }));
}

const CODE_PATH = ['blocks', 'b', 'subBlocks', 'code', 'value'];

describe('code that is not JavaScript', () => {
  it('is a warning with the line number and the line as written', () => {
    const text = 'const a = <fetch.result>\nreturn [a, <fetch.result>}\n';
    expect(syntaxDiagnostics(code(text))).toEqual([
      {
        severity: 'warning',
        path: CODE_PATH,
        message:
          'The code of "Work" is not valid JavaScript: Unexpected token at line 2 in "return [a, <fetch.result>}".',
      },
    ]);
  });

  it.each([
    'return (',
    'if (x {',
    'let a = 1; let a = 2',
    '} {',
    "return 'a",
    'return `a${',
    'return /a',
    '/* open',
    'return )',
    'const x: number = 1',
  ])('is reported: %s', (text) => {
    expect(syntaxDiagnostics(code(text))).toHaveLength(1);
  });

  it.each([
    ['a return statement at the top level', 'return 1'],
    ['await at the top level', 'const a = await fetch("x"); for await (const x of a) {}'],
    ['imports', "import a, { b } from 'x';\nimport * as c from 'y';\nreturn a + b + c + (await import('z'))"],
    [
      'references in every position',
      'return [<fetch.result>, "<fetch.result>", `<fetch.result>`, /<fetch.result>/]',
    ],
    ['placeholders', 'return {{KEY}} + "{{KEY}}"'],
    ['a comment at the end', 'return 1 // done'],
    ['syntax that is allowed only in a function', 'using a = null; return new.target'],
    ['a name that other engines reserve', 'const params = 1; return params'],
    ['nothing', ''],
  ])('does not include %s', (_, text) => {
    expect(syntaxDiagnostics(code(text))).toEqual([]);
  });

  it('does not report unknown references, which have their own diagnostic', () => {
    expect(syntaxDiagnostics(code('return <nosuch.x>'))).toEqual([]);
  });

  it('is not reported in another language, or in very long code', () => {
    expect(syntaxDiagnostics({ fields: { code: 'return (', language: 'python' } })).toEqual([]);
    expect(syntaxDiagnostics(code(`return (${' '.repeat(50_000)}`))).toEqual([]);
  });

  it('is not reported if it is nested more deeply than the parser supports', () => {
    expect(syntaxDiagnostics(code(`return ${'['.repeat(20_000)}`))).toEqual([]);
  });
});

describe('an expression that is not JavaScript', () => {
  it('is a warning in a row of a condition', () => {
    expect(syntaxDiagnostics(condition('b', '<fetch.result> >', '<fetch.result> > 1; // fine', ''))).toEqual([
      {
        severity: 'warning',
        path: ['blocks', 'b', 'subBlocks', 'conditions', 'value', 0],
        message:
          'The condition "if" of "Work" is not valid JavaScript: Unexpected token in "<fetch.result> >".',
      },
    ]);
  });

  it.each<[string, BlockSettings, string]>([
    [
      'a while condition',
      { type: 'loop', data: { loopType: 'while', whileCondition: '<loop.index> <' } },
      'whileCondition',
    ],
    [
      'a doWhile condition',
      { type: 'loop', data: { loopType: 'doWhile', doWhileCondition: 'return true' } },
      'doWhileCondition',
    ],
    ['a count', { type: 'parallel', data: { parallelType: 'count', count: '<fetch.result> +' } }, 'count'],
  ])('is a warning in %s', (_, block, key) => {
    expect(syntaxDiagnostics(block)).toMatchObject([
      { severity: 'warning', path: ['blocks', 'b', 'data', key] },
    ]);
  });

  it('does not include an expression with semicolons or a comment at its end, which the sandbox accepts', () => {
    expect(syntaxDiagnostics(condition('b', 'true;', '1 < 2 /* so */ ;;', '{a: 1}.a'))).toEqual([]);
  });
});
