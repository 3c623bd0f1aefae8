import { describe, expect, it } from 'vitest';
import { code, condition, start, workflowFile } from '../../../../test/support/workflow-file.ts';
import type { BlockSettings, WorkflowSettings } from '../../../../test/support/workflow-file.ts';
import { parseWorkflow } from '../schema/parse.ts';
import { checkWorkflow } from './compile.ts';

const UNKNOWN_BLOCK = 'REFERENCE_UNKNOWN_BLOCK';

/** Returns the diagnostics of references as `severity CODE`, with the hint if it is a suggestion. */
function referenceDiagnostics(file: WorkflowSettings, compat = false): string[] {
  return checkWorkflow(parseWorkflow(workflowFile(file)).workflow!, { compat })
    .filter((diagnostic) => diagnostic.code.startsWith('REFERENCE'))
    .map(
      ({ severity, code: diagnosticCode, hint }) =>
        `${severity} ${diagnosticCode}${hint.startsWith('Did') ? ` ${hint}` : ''}`,
    );
}

const variables = { v: { id: 'v', name: 'My Var', type: 'string', value: '' } };
function diagnosticsOfBlock(block: BlockSettings, compat = false): string[] {
  const blocks = { s: start(), fetch: code('return 1', { name: 'Fetch' }), b: block };
  return referenceDiagnostics({ blocks, edges: ['s > fetch', 'fetch > b'], state: { variables } }, compat);
}
const textBlock = (value: string): BlockSettings => ({ type: 'response', fields: { data: value } });

describe('a reference to an unknown block', () => {
  it.each([
    ['in code', code('return <nosuch.x>')],
    ['in a condition', condition('b', '<nosuch.x> > 1')],
    ['in a while condition', { type: 'loop', data: { loopType: 'while', whileCondition: '<nosuch.x>' } }],
    ['in a count', { type: 'loop', data: { count: '<nosuch.x>' } }],
    ['in a collection', { type: 'parallel', data: { parallelType: 'collection', collection: '<nosuch.x>' } }],
    ['without a path in a condition', condition('b', '<nosuch> > 1')],
  ])('%s is an error, with compat a warning', (_, block) => {
    expect(diagnosticsOfBlock(block)).toEqual([`error ${UNKNOWN_BLOCK}`]);
    expect(diagnosticsOfBlock(block, true)).toEqual([`warning ${UNKNOWN_BLOCK}`]);
  });

  it.each([
    ['text', textBlock('see <nosuch.x>')],
    ['a list in a field', { type: 'response', fields: { data: [{ a: '<nosuch.x>' }] } }],
    ['a string in code', code('return "<nosuch.x>"')],
    ['a comment', code('// <nosuch.x>\nreturn 1')],
  ])('not similar to any name is a warning in %s', (_, block) => {
    expect(diagnosticsOfBlock(block)).toEqual([`warning ${UNKNOWN_BLOCK}`]);
  });

  it.each([
    ['text', textBlock('see <fetsh.result>')],
    ['a string in code', code('return "<fetsh.result>"')],
    ['a comment', code('// <fetsh.result>\nreturn 1')],
  ])('similar to a name is an error in %s, with a suggestion', (_, block) => {
    expect(diagnosticsOfBlock(block)).toEqual([`error ${UNKNOWN_BLOCK} Did you mean <fetch.result>?`]);
    expect(diagnosticsOfBlock(block, true)[0]).toMatch(/^warning/);
  });

  it.each([
    ['a tag in text', textBlock('<div>x</div> <br> <fetsh>')],
    ['a comparison', code('const a = 1, b = 2, c = 3; return [a<b, c>a, a < 1 && b > 2]')],
    ['inner spaces', textBlock('< nosuch.x >')],
  ])('is not reported for %s', (_, block) => {
    expect(diagnosticsOfBlock(block)).toEqual([]);
  });

  it('is not checked in notes, triggers and disabled blocks', () => {
    const blocks = {
      s: start({ fields: { description: '<fetsh.x>' } }),
      n: { type: 'note', fields: { content: '<nosuch.x> <start.y>' } },
      off: code('return <nosuch.x>', { enabled: false }),
    };
    expect(referenceDiagnostics({ blocks, edges: ['s > off'] })).toEqual([]);
  });
});

describe('a variable', () => {
  it.each([['<variable.myvar>'], ['<variable.My Var>'], ['<variable.MYVAR.deep[0]>'], ['<variable.v>']])(
    'is known as %s',
    (reference) => {
      expect(diagnosticsOfBlock(code(`return ${reference}`))).toEqual([]);
    },
  );

  it('that does not exist is an error everywhere except in comments', () => {
    const error = 'error REFERENCE_UNKNOWN_VARIABLE';
    expect(diagnosticsOfBlock(code('return "<variable.ghost>"'))).toEqual([error]);
    expect(diagnosticsOfBlock(textBlock('<variable.ghost>'))).toEqual([error]);
    expect(diagnosticsOfBlock(code('return <variable.myvat>'))).toEqual([
      `${error} Did you mean <variable.myvar>?`,
    ]);
    expect(diagnosticsOfBlock(code('// <variable.ghost>'))).toEqual([]);
    expect(diagnosticsOfBlock(textBlock('<variable.ghost>'), true)).toEqual([
      'warning REFERENCE_UNKNOWN_VARIABLE',
    ]);
  });
});

describe('a reference to a block that may not have run', () => {
  const neverRanWarning = 'warning REFERENCE_NEVER_RAN';
  const a = code('return <b.result>');
  it.each<[string, WorkflowSettings['blocks'], string[], string[]]>([
    ['runs after the block with the reference', { a, b: code('1') }, ['s > a', 'a > b'], [neverRanWarning]],
    ['contains the reference itself', { b: code('return <b.result>') }, ['s > b'], [neverRanWarning]],
    ['is unreachable', { a, b: code('1') }, ['s > a'], [neverRanWarning]],
    ['is disabled', { a, b: code('1', { enabled: false }) }, ['s > a', 's > b'], [neverRanWarning]],
    ['runs concurrently', { a, b: code('1') }, ['s > a', 's > b'], []],
    ['runs before the block with the reference', { a, b: code('1') }, ['s > b', 'b > a'], []],
  ])('is reported only if the block cannot have run: it %s', (_, blocks, edges, expected) => {
    expect(referenceDiagnostics({ blocks: { s: start(), ...blocks }, edges })).toEqual(expected);
  });

  const parent = { parentId: 'L' };
  const loop: BlockSettings = { type: 'loop', data: { count: 2 } };
  const parallel: BlockSettings = { type: 'parallel', data: { count: 2 } };
  const whileLoop: BlockSettings = {
    type: 'loop',
    data: { loopType: 'while', whileCondition: '<b.result>' },
  };
  const countLoop: BlockSettings = { type: 'loop', data: { count: '<b.result>' } };
  const b = code('1', parent);
  it.each<[string, WorkflowSettings['blocks'], string[], string[]]>([
    ['an earlier iteration', { L: loop, a: { ...a, ...parent }, b }, ['L > a', 'a > b'], []],
    ['itself in an earlier iteration', { L: loop, b: code('return <b.result>', parent) }, ['L > b'], []],
    ['inside, from outside', { L: loop, b, a }, ['L > b', 'L > a'], []],
    ['inside, before the loop', { L: loop, b, a }, ['L > b', 'a > L', 's > a'], [neverRanWarning]],
    [
      'results of its own loop',
      { L: loop, b: code('return <L.results>', parent) },
      ['L > b'],
      [neverRanWarning],
    ],
    ['another branch', { L: parallel, a: { ...a, ...parent }, b }, ['L > a', 'a > b'], [neverRanWarning]],
    ['the body, in a loop condition', { L: whileLoop, b }, ['L > b'], []],
    ['the body, in a count', { L: countLoop, b }, ['L > b'], [neverRanWarning]],
  ])('is reported only if the block cannot have run: %s', (_, blocks, edges, expected) => {
    expect(referenceDiagnostics({ blocks: { s: start(), ...blocks }, edges: ['s > L', ...edges] })).toEqual(
      expected,
    );
  });
});

describe('an output', () => {
  const undeclaredOutputWarning = 'warning REFERENCE_UNDECLARED_OUTPUT';
  const agent = (properties: BlockSettings): BlockSettings => ({
    type: 'agent',
    name: 'Agent',
    ...properties,
  });
  const format = { schema: { type: 'object', properties: { row: { type: 'array' } } } };
  it.each<[string, BlockSettings, string, string[]]>([
    ['that is declared', code('1', { name: 'Agent' }), '<agent.result.a[0]>', []],
    [
      'that is not declared',
      code('1', { name: 'Agent' }),
      '<agent.rezult>',
      [`${undeclaredOutputWarning} Did you mean "result"?`],
    ],
    ['named error, of any block', code('1', { name: 'Agent' }), '<agent.error>', []],
    [
      'of a response format',
      agent({ fields: { responseFormat: JSON.stringify(format) } }),
      '<agent.row[0]>',
      [],
    ],
    [
      'of a wrapped response format',
      agent({ fields: { responseFormat: { json_schema: format } } }),
      '<agent.row>',
      [],
    ],
    [
      'of the type or of the block itself',
      agent({ outputs: { name: 'string' } }),
      '<agent.content.name> <agent.name>',
      [],
    ],
    [
      'that neither the type nor the block declares',
      agent({ outputs: { name: 'string' } }),
      '<agent.email>',
      [undeclaredOutputWarning],
    ],
    ['of a type that declares no outputs', { type: 'variables', name: 'Agent' }, '<agent.any>', []],
    [
      'declared in the file',
      { type: 'odd', name: 'Agent', outputs: { a: { b: 'string' } } },
      '<agent.a.c>',
      [],
    ],
    [
      'not declared in the file',
      { type: 'odd', name: 'Agent', outputs: { a: 'json' } },
      '<agent.b>',
      [undeclaredOutputWarning],
    ],
    ['that a condition passes on', { ...condition('a', ''), name: 'Agent' }, '<agent.passed>', []],
  ])('%s has the expected diagnostics', (_, block, references, expected) => {
    const blocks = { s: start(), a: block, b: textBlock(references) };
    expect(referenceDiagnostics({ blocks, edges: ['s > a', 'a > b'] })).toEqual(expected);
  });

  it('that does not exist has a hint that names only some of many existing outputs', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`field${index}`, { type: 'string' }]),
    );
    const blocks = {
      s: start(),
      a: { type: 'agent', name: 'Writer', fields: { responseFormat: { properties } } },
      r: textBlock('<writer.nothing>'),
    };
    const file = workflowFile({ blocks, edges: ['s > a', 'a > r'] });
    const diagnostics = checkWorkflow(parseWorkflow(file).workflow!);
    expect(diagnostics.find((diagnostic) => diagnostic.code === 'REFERENCE_UNDECLARED_OUTPUT')?.hint).toMatch(
      / and \d+ more\.$/,
    );
  });
});

describe('very many unknown references', () => {
  it('are refused with the first errors and the number of omitted ones', () => {
    const references = Array.from({ length: 154_000 }, (_, index) => `<nosuch${index}.x>`).join(' ');
    const file = workflowFile({ blocks: { s: start(), r: textBlock(references) }, edges: ['s > r'] });
    const diagnostics = checkWorkflow(parseWorkflow(file).workflow!);
    expect(diagnostics).toHaveLength(501);
    expect(diagnostics.at(-1)).toMatchObject({
      code: 'DIAGNOSTICS_MORE',
      message: 'And 153500 more: REFERENCE_UNKNOWN_BLOCK (153500).',
    });
  });
});
