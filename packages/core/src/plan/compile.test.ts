import { describe, expect, it } from 'vitest';
import { code, condition, start, workflowFile } from '../../../../test/support/workflow-file.ts';
import type { BlockSettings, WorkflowSettings } from '../../../../test/support/workflow-file.ts';
import type { JsonObject } from '../json.ts';
import { parseWorkflow } from '../schema/parse.ts';
import { compile } from './compile.ts';
import type { CompileOptions, CompileResult } from './compile.ts';
import type { BlockConfig, Plan } from './plan.ts';
import { startCandidates } from './starts.ts';

function compileFile(file: WorkflowSettings, options?: CompileOptions): CompileResult {
  return compile(parseWorkflow(workflowFile(file), { fileName: 'daily.json' }).workflow!, options);
}

function planOf(file: WorkflowSettings, options?: CompileOptions): Plan {
  const result = compileFile(file, options);
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics));
  return result.plan;
}

const configOf = (block: BlockSettings): BlockConfig =>
  planOf({ blocks: { s: start(), b: block }, edges: ['s > b'] }).blocks['b']!;

describe('a plan', () => {
  it('contains the options of its compilation and the limits of its runs', () => {
    const plan = planOf(
      { blocks: { s: start() } },
      { compat: true, limits: { timeoutMs: 9, maxLoopTurns: 3 } },
    );
    expect(plan).toMatchObject({
      ...{ format: 1, machine: 1, compat: true, start: 's', workflow: { id: 'daily', name: 'daily' } },
      limits: {
        maxLoopTurns: 3,
        maxParallelBranches: 10_000,
        graceMs: 5000,
        deadline: 'total',
        timeoutMs: 9,
      },
      hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
  });

  it('has a different hash if anything in it differs', () => {
    const workflowOf = (text: string): WorkflowSettings => ({
      blocks: { s: start(), b: code(text) },
      edges: ['s > b'],
    });
    const hashes = [
      planOf(workflowOf('1')),
      planOf(workflowOf('2')),
      planOf(workflowOf('1'), { compat: true }),
    ].map(({ hash }) => hash);
    expect(new Set(hashes).size).toBe(3);
    expect(planOf(workflowOf('1')).hash).toBe(hashes[0]);
  });

  it('does not depend on the order of the keys in a stored map', () => {
    const planWithItem = (item: JsonObject): Plan =>
      planOf({
        blocks: { s: start(), L: { type: 'loop' }, a: { ...code('1'), parentId: 'L' } },
        edges: ['s > L', 'L > a'],
        state: { loops: { L: { id: 'L', nodes: ['a'], loopType: 'forEach', forEachItems: [item] } } },
      });
    const plan = planWithItem({ a: 1, b: 2 });
    expect(JSON.stringify(plan)).toContain('{"a":1,"b":2}');
    expect(JSON.stringify(planWithItem({ b: 2, a: 1 }))).toBe(JSON.stringify(plan));
  });

  it('contains the variables with their values at the start of a run', () => {
    const variables = {
      z: { name: 'Z', type: 'number', value: '4' },
      a: { name: 'A', type: 'object', value: '{"k": 1}' },
    };
    expect(planOf({ blocks: { s: start() }, state: { variables } }).variables).toEqual([
      { id: 'a', name: 'A', type: 'object', value: { k: 1 } },
      { id: 'z', name: 'Z', type: 'number', value: 4 },
    ]);
  });

  it('ignores edges to unknown blocks with compat', () => {
    const file = { blocks: { s: start(), b: code('1') }, edges: ['s > b', 'b > ghost'] };
    expect(compileFile(file).ok).toBe(false);
    const plan = planOf(file, { compat: true });
    expect(plan.skeleton.nodes.map(({ id, outs }) => [id, outs])).toEqual([
      ['s', [1]],
      ['b', []],
    ]);
  });
});

describe('the workflow', () => {
  it('is not changed by compiling it', () => {
    const blocks = { s: start(), L: { type: 'loop', data: { count: 1 } }, in: { parentId: 'L' } };
    const loops = { L: { id: 'L', nodes: ['in', 'gone'] } };
    const { workflow } = parseWorkflow(
      workflowFile({ blocks, edges: ['s > L', 'L > in'], state: { loops } }),
    );
    const originalWorkflow = structuredClone(workflow);
    compile(workflow!);
    expect(workflow).toEqual(originalWorkflow);
  });
});

describe('the default start', () => {
  const trigger = (type: string, properties: BlockSettings = {}): BlockSettings => ({ type, ...properties });
  it.each<[string, WorkflowSettings['blocks'], string[]]>([
    [
      'a start trigger before all others',
      { b: trigger('schedule'), c: trigger('start_trigger'), a: trigger('starter') },
      ['c', 'a', 'b'],
    ],
    ['an api trigger before others', { a: trigger('manual_trigger'), b: trigger('api_trigger') }, ['b', 'a']],
    [
      'the first of equally suitable starts in the file',
      { z: trigger('start_trigger'), a: trigger('start_trigger') },
      ['z', 'a'],
    ],
    ['an external trigger', { w: trigger('generic_webhook') }, ['w']],
    [
      'a known trigger before a block in trigger mode',
      { g: trigger('gmail_v2', { triggerMode: true }), s: trigger('schedule') },
      ['s', 'g'],
    ],
    [
      'a start that is also in trigger mode',
      { w: trigger('schedule'), s: start({ triggerMode: true }) },
      ['s', 'w'],
    ],
    ['an enabled start', { a: trigger('start_trigger', { enabled: false }), b: trigger('starter') }, ['b']],
  ])('is %s', (_, blocks, expected) => {
    expect(startCandidates(planOf({ blocks }))).toEqual(expected);
  });

  it('is never inside a container', () => {
    const blocks = { L: { type: 'loop', data: { count: 1 } }, s: start({ parentId: 'L' }) };
    const result = compileFile({ blocks, edges: ['L > s'] });
    expect(result.diagnostics.map((diagnostic) => diagnostic.code)).toContain('START_MISSING');
  });
});

describe('the configuration of a block', () => {
  it('keeps fields without references, and compiles other fields at any depth', () => {
    const fields = { plain: [{ a: 1 }], deep: [{ b: 'x <start.q>', a: '{{KEY}}' }], none: null };
    expect(configOf({ type: 'agent', fields }).params).toEqual({
      plain: { kind: 'literal', value: [{ a: 1 }] },
      none: { kind: 'literal', value: null },
      deep: {
        kind: 'list',
        items: [
          {
            kind: 'object',
            entries: [
              ['a', { kind: 'text', parts: [{ env: 'KEY', text: '{{KEY}}' }] }],
              [
                'b',
                {
                  kind: 'text',
                  parts: ['x ', { ref: expect.objectContaining({ block: 's', path: ['q'] }) }],
                },
              ],
            ],
          },
        ],
      },
    });
  });

  it('keeps the fields of a trigger', () => {
    const fields = { inputFormat: [{ name: 'q', type: 'string', value: '<b.result>' }] };
    const { blocks } = planOf({ blocks: { s: start({ fields }), b: code('1') }, edges: ['s > b'] });
    expect(blocks['s']).toMatchObject({
      trigger: true,
      params: { inputFormat: { kind: 'literal', value: fields.inputFormat } },
      outputs: {
        fields: { q: { type: 'string', opaque: false }, input: { opaque: true }, files: { opaque: true } },
      },
    });
  });

  it.each([
    ['javascript', undefined],
    ['python', 'python'],
    ['shell', 'shell'],
    ['javascript', ''],
    ['javascript', null],
  ])('of a function is %s code when the language is %j', (language, value) => {
    const config = configOf({
      type: 'function',
      fields: { code: 'x = <start.q>', language: value as string },
    });
    expect(config.code).toMatchObject({
      language,
      authored: 'x = <start.q>',
      bindings: [{ ref: { block: 's' } }],
    });
    expect(config.params).not.toHaveProperty('code');
  });

  it('joins the fragments of code', () => {
    const fragments = [{ content: 'const a = 1' }, { content: 'return a' }, 'lost'];
    expect(configOf({ type: 'function', fields: { code: fragments } }).code?.authored).toBe(
      'const a = 1\nreturn a',
    );
  });

  it('of a condition has its rows, from text or a list', () => {
    const rows = [
      { id: 'c-if', title: 'if', value: '<start.n> > 1' },
      { id: 'x', title: 'else if', value: ' ' },
      { title: ' Else ', value: 'ignored' },
    ];
    for (const conditions of [rows, JSON.stringify(rows)]) {
      const config = configOf({ type: 'condition', fields: { conditions } });
      expect(config.conditions).toEqual([
        {
          id: 'c-if',
          title: 'if',
          otherwise: false,
          expression: expect.objectContaining({ authored: '<start.n> > 1' }),
        },
        { id: 'x', title: 'else if', otherwise: false },
        { id: 'b-else', title: ' Else ', otherwise: true },
      ]);
      expect(config.params).toEqual({});
    }
  });

  it('resolves a field named conditions in other blocks', () => {
    const { params } = configOf({ type: 'table', fields: { conditions: '<start.q>' } });
    expect(params['conditions']).toMatchObject({ kind: 'text' });
  });

  it('of a condition with unreadable rows keeps their text', () => {
    const config = configOf({ type: 'condition', fields: { conditions: '[{bad' } });
    expect(config.conditions).toBeUndefined();
    expect(config.params).toEqual({ conditions: { kind: 'literal', value: '[{bad' } });
    expect(configOf({ type: 'condition' }).conditions).toEqual([]);
  });

  it('lists its sources in the order of the edges, without the container around it', () => {
    const blocks = {
      ...{ s: start(), b: code('1'), a: code('1'), j: condition('j', 'true') },
      ...{ L: { type: 'loop', data: { count: 1 } }, in: { parentId: 'L' } },
    };
    const edges = ['s > b', 's > a', 'b > j', 'a > j', 'b:error > j', 's > L', 'L > in'];
    const plan = planOf({ blocks, edges });
    expect(plan.blocks['j']?.sources).toEqual(['b', 'a']);
    expect(plan.blocks['in']?.sources).toEqual([]);
    expect(plan.blocks['L']).toMatchObject({ params: {}, container: { kind: 'for' }, sources: ['s'] });
  });
});
