import { describe, expect, it } from 'vitest';
import { code, start, workflowFile } from '../../../../test/support/workflow-file.ts';
import { PARSE_LIMITS } from './validate.ts';
import { parseWorkflow, parseWorkflowText } from './parse.ts';

const file = workflowFile({
  blocks: { s: start(), f: code('return 1') },
  edges: ['s > f'],
});
const codesOf = (input: unknown): string[] =>
  parseWorkflow(input).diagnostics.map((diagnostic) => diagnostic.code);
const withBlock = (block: unknown): unknown => ({ state: { blocks: { b: block }, edges: [] } });

describe('a workflow file', () => {
  const exportFile = { version: '1.0', exportedAt: 'x', workflow: { id: 'w1', name: 'Mine' }, ...file };

  it.each([
    ['an export', exportFile],
    ['an export in data', { data: exportFile }],
    ['an object with only `state`', file],
    ['the content of `state`', file.state],
    ['a draft graph in data', { data: file.state }],
  ])('can be %s', (_, input) => {
    const { workflow, diagnostics } = parseWorkflow(input);
    expect(diagnostics).toEqual([]);
    expect(workflow?.blocks.map(({ id, type }) => [id, type])).toEqual([
      ['s', 'start_trigger'],
      ['f', 'function'],
    ]);
    expect(workflow?.edges).toEqual([{ source: 's', target: 'f' }]);
  });

  it('is read from text, even with a byte order mark', () => {
    expect(parseWorkflowText(`\ufeff${JSON.stringify(exportFile)}`).workflow?.id).toBe('w1');
  });

  it.each([
    ['its content', exportFile, 'w1', 'Mine'],
    ['the name of the file', file, '2a1c59de-fdcc-4ae0-b448-69a58b36c29a', 'feedback-digest'],
  ])('gets its id and name from %s', (_, input, id, name) => {
    const fileName = '/x/feedback-digest-2a1c59de-fdcc-4ae0-b448-69a58b36c29a.json';
    expect(parseWorkflow(input, { fileName }).workflow).toMatchObject({ id, name });
  });

  it('gets the base name of the file as its id if there is no other id', () => {
    expect(parseWorkflow(file, { fileName: 'C:\\flows\\daily.json' }).workflow).toMatchObject({
      id: 'daily',
      name: 'daily',
    });
    expect(parseWorkflow(file).workflow?.id).toBe('workflow');
  });

  it('may declare Heddle as its engine', () => {
    expect(parseWorkflow({ ...file.state, metadata: { engine: 'heddle' } }).workflow?.dialect).toBe('heddle');
    expect(parseWorkflow(file).workflow?.dialect).toBe('import');
  });
});

describe('a parsed block', () => {
  it('keeps the data that runs need, and omits the data of editors', () => {
    const block = {
      ...{ id: 'b', type: 'loop', name: 'B', position: null, height: 3, layout: {}, locked: true },
      ...{ enabled: null, errorEnabled: true, subBlocks: { x: { id: 'x', type: 'code', value: null } } },
      ...{ data: { width: 2, count: 3, collection: null, parentId: '' }, outputs: null, retry: null },
    };
    expect(parseWorkflow(withBlock(block)).workflow?.blocks).toEqual([
      {
        ...{ id: 'b', type: 'loop', name: 'B', enabled: true, trigger: false, fields: { x: null } },
        ...{ containerSettings: { count: 3 }, outputs: {} },
      },
    ]);
  });

  it('omits malformed fields, with a warning', () => {
    const subBlocks = {
      undefined: { value: 1 },
      a: 'text',
      b: { type: 'unknown', value: 1 },
      c: { value: 2 },
    };
    const { workflow, diagnostics } = parseWorkflow(withBlock({ type: 'function', name: 'B', subBlocks }));
    expect(workflow?.blocks[0]?.fields).toEqual({ c: 2 });
    expect(diagnostics.map(({ code, path }) => [code, path.at(-1)])).toEqual([
      ['FIELD_DROPPED', 'undefined'],
      ['FIELD_DROPPED', 'a'],
      ['FIELD_DROPPED', 'b'],
    ]);
  });

  it('without a name gets its id as name', () => {
    const { workflow, diagnostics } = parseWorkflow(withBlock({ type: 'function', name: ' ' }));
    expect(workflow?.blocks[0]?.name).toBe('b');
    expect(diagnostics[0]?.code).toBe('NAME_MISSING');
  });
});

describe('variables', () => {
  const variable = { id: 'v', name: 'n', type: 'number', value: '4' };
  it.each([
    ['a record', { v: variable }],
    ['an array', [variable]],
    ['JSON text', JSON.stringify({ v: variable })],
    ['JSON text of an array', JSON.stringify([variable])],
  ])('are read from %s', (_, variables) => {
    expect(parseWorkflow({ ...file.state, variables }).workflow?.variables).toEqual([variable]);
  });

  it.each([[null], [''], [{}], [{ v: null }]])('may be absent: %j', (variables) => {
    expect(parseWorkflow({ ...file.state, variables })).toMatchObject({
      workflow: { variables: [] },
      diagnostics: [],
    });
  });

  it('of an unknown type are strings, with a warning', () => {
    const { workflow, diagnostics } = parseWorkflow({
      ...file.state,
      variables: [{ name: 'a', type: 'date' }],
    });
    expect(workflow?.variables).toEqual([{ id: 'a', name: 'a', type: 'string', value: null }]);
    expect(diagnostics[0]?.code).toBe('VARIABLE_TYPE_UNKNOWN');
  });

  it.each([['{bad'], ['5'], [5]])('that are malformed are an error: %j', (variables) => {
    expect(codesOf({ ...file.state, variables })).toEqual(['INPUT_SHAPE']);
  });
});

describe('untrusted input', () => {
  const nestedValue = (levels: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < levels; level++) value = [value];
    return value;
  };

  it.each([
    ['null', null],
    ['a number', 5],
    ['a string', 'x'],
    ['an empty object', {}],
    ['a function', () => 1],
    ['undefined', undefined],
  ])('that is %s is not a workflow', (_, input) => {
    const { workflow, diagnostics } = parseWorkflow(input);
    expect(workflow).toBeUndefined();
    expect(diagnostics.at(-1)).toMatchObject({ code: 'INPUT_SHAPE', severity: 'error' });
  });

  it('that is not JSON is reported with the position of the error', () => {
    const { diagnostics } = parseWorkflowText('{"blocks": {,}}');
    expect(diagnostics).toMatchObject([
      { code: 'JSON_INVALID', message: expect.stringMatching(/position 12/) },
    ]);
  });

  it('never changes a prototype', () => {
    const { workflow, diagnostics } = parseWorkflowText(
      '{"blocks": {"b": {"type": "function", "name": "B", "__proto__": {"enabled": false}}, "__proto__": {}}, "edges": []}',
    );
    expect(workflow).toBeUndefined();
    expect(diagnostics.map(({ code, path }) => [code, path])).toEqual([
      ['KEY_FORBIDDEN', ['blocks', 'b', '__proto__']],
      ['KEY_FORBIDDEN', ['blocks', '__proto__']],
    ]);
  });

  it('may use the names of inherited properties for blocks, fields and variables', () => {
    const blocks = { constructor: { type: 'function', name: 'C', subBlocks: { toString: { value: 1 } } } };
    const { workflow, diagnostics } = parseWorkflow({
      blocks,
      edges: [],
      variables: { valueOf: { name: 'x' } },
    });
    expect(diagnostics).toEqual([]);
    expect(workflow?.blocks[0]).toMatchObject({ id: 'constructor', fields: { toString: 1 } });
    expect(parseWorkflow({ blocks: { b: {} }, edges: [] }).workflow).toBeUndefined();
  });

  it('that is nested too deeply, or cyclic, is cut off and refused', () => {
    const circle: unknown[] = [];
    circle.push(circle);
    for (const value of [nestedValue(5000), circle]) {
      expect(codesOf(withBlock({ type: 'function', name: 'B', subBlocks: { x: { value } } }))).toEqual([
        'INPUT_TOO_DEEP',
      ]);
    }
  });

  it('that is too large is refused', () => {
    const blocks = Object.fromEntries(
      Array.from({ length: PARSE_LIMITS.blocks + 1 }, (_, index) => [`b${index}`, null]),
    );
    expect(codesOf({ blocks, edges: [] })).toEqual(['INPUT_TOO_LARGE']);
    const edges = Array.from({ length: PARSE_LIMITS.edges + 1 }, () => null);
    expect(codesOf({ blocks: {}, edges })).toEqual(['INPUT_TOO_LARGE']);
    const name = 'x'.repeat(PARSE_LIMITS.stringChars + 1);
    expect(codesOf({ blocks: {}, edges: [], metadata: { name } })).toEqual(['INPUT_TOO_LARGE']);
  });

  it('with names, ids or types of more than 1,000 characters is reported', () => {
    const longName = 'x'.repeat(PARSE_LIMITS.nameChars + 1);
    const block = { type: 'function', name: 'B' };
    expect(codesOf({ blocks: { [longName]: block }, edges: [] })).toEqual(['INPUT_TOO_LARGE']);
    expect(codesOf(withBlock({ ...block, name: longName }))).toEqual(['INPUT_SHAPE']);
    expect(codesOf(withBlock({ ...block, type: longName }))).toEqual(['INPUT_SHAPE']);
    const subBlocks = { [longName]: { value: 1 } };
    expect(codesOf(withBlock({ ...block, subBlocks }))).toEqual(['FIELD_DROPPED']);
    const variables = { v: { name: longName, type: 'string', value: '' } };
    expect(codesOf({ blocks: {}, edges: [], variables })).toEqual(['INPUT_SHAPE']);
    expect(codesOf(withBlock({ ...block, name: longName.slice(1) }))).toEqual([]);
  });

  it('with thousands of problems is reported with 500 errors, 500 warnings and a count of the others', () => {
    const blocks = Object.fromEntries(
      Array.from({ length: 2000 }, (_, index) => [
        `b${index}`,
        index % 2 === 0 ? { type: 'x' } : { type: 1 },
      ]),
    );
    const { workflow, diagnostics } = parseWorkflow({ blocks, edges: [] });
    expect(workflow).toBeUndefined();
    expect(diagnostics).toHaveLength(1001);
    expect(diagnostics.at(-1)).toEqual({
      code: 'DIAGNOSTICS_MORE',
      severity: 'error',
      path: [],
      message: 'And 1000 more: INPUT_SHAPE (500), NAME_MISSING (500).',
      hint: 'Correct the ones above, then check again.',
    });
  });

  it('is refused if an error follows thousands of warnings', () => {
    const unnamedBlocks = Array.from({ length: 2000 }, (_, index) => [`b${index}`, { type: 'x' }]);
    const { workflow, diagnostics } = parseWorkflow({
      blocks: Object.fromEntries([...unnamedBlocks, ['z', { type: 1 }]]),
      edges: [],
    });
    expect(workflow).toBeUndefined();
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toMatchObject([{ blockId: 'z' }]);
  });

  it('is reported with all its errors, each with its path', () => {
    const input = {
      data: {
        blocks: {
          a: { id: 'z', type: 'function', name: 'A' },
          b: { type: 5, name: 'B', enabled: 'yes', data: [] },
          c: null,
        },
        edges: [{ source: 1, target: 'b' }, 'x', { source: 'a', target: '' }],
        loops: { l: { nodes: [1] } },
      },
    };
    expect(parseWorkflow(input).diagnostics.map(({ code, path }) => `${code} ${path.join('.')}`)).toEqual([
      'BLOCK_ID_MISMATCH blocks.a.id',
      'INPUT_SHAPE blocks.b.type',
      'INPUT_SHAPE blocks.b.enabled',
      'INPUT_SHAPE blocks.b.data',
      'INPUT_SHAPE blocks.c',
      'INPUT_SHAPE edges.0.source',
      'INPUT_SHAPE edges.1',
      'INPUT_SHAPE edges.2.target',
      'INPUT_SHAPE loops.l.nodes.0',
    ]);
  });

  it.each([{}, { loops: { '': { nodes: [''] } } }])(
    'with a container whose id is empty is refused: %j',
    (maps) => {
      const container = { type: 'loop', name: 'L', data: { count: 2 } };
      const { workflow, diagnostics } = parseWorkflow({ blocks: { '': container }, edges: [], ...maps });
      expect(workflow).toBeUndefined();
      expect(diagnostics).toMatchObject([{ code: 'INPUT_SHAPE', severity: 'error', path: ['blocks', ''] }]);
    },
  );

  it('whose blocks or edges have a wrong type is refused', () => {
    expect(codesOf({ blocks: [], edges: {} })).toEqual(['INPUT_SHAPE', 'INPUT_SHAPE']);
    expect(codesOf({ blocks: {} })).toEqual(['INPUT_SHAPE']);
  });

  it('with values that are not JSON is refused', () => {
    const value = { a: [1n, Number.NaN, Symbol('s')] };
    expect(codesOf(withBlock({ type: 'function', name: 'B', subBlocks: { x: { value } } }))).toEqual([
      'INPUT_SHAPE',
      'INPUT_SHAPE',
      'INPUT_SHAPE',
    ]);
  });
});
