import { describe, expect, it } from 'vitest';
import { code, start, workflowFile } from '../../../../test/support/workflow-file.ts';
import type { BlockSettings } from '../../../../test/support/workflow-file.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Subflow } from '../machine/skeleton.ts';
import { parseWorkflow } from '../schema/parse.ts';
import { compile } from './compile.ts';
import type { ContainerConfig } from './plan.ts';

interface CompiledContainer {
  config: ContainerConfig | undefined;
  subflow: Omit<Subflow, 'body'> | undefined;
  codes: string[];
}

function compileContainer(block: BlockSettings, state: JsonObject = {}): CompiledContainer {
  const blocks = { s: start(), p: code('return 1'), L: block, a: { parentId: 'L' } };
  const file = workflowFile({ blocks, edges: ['s > p', 'p > L', 'L > a'], state });
  const result = compile(parseWorkflow(file).workflow!);
  const codes = result.diagnostics
    .filter(({ blockId }) => blockId === 'L')
    .map((diagnostic) => diagnostic.code);
  if (!result.ok) return { config: undefined, subflow: undefined, codes };
  const { body: _, ...subflow } = result.plan.skeleton.nodes.find(({ id }) => id === 'L')!.subflow!;
  return { config: result.plan.blocks['L']!.container, subflow, codes };
}

const compileLoop = (data: JsonObject, state?: JsonObject): CompiledContainer =>
  compileContainer({ type: 'loop', data }, state);
const compileParallel = (data: JsonObject): CompiledContainer => compileContainer({ type: 'parallel', data });
const heddleState = { metadata: { engine: 'heddle' } };

describe('a count', () => {
  it.each<[Json, number]>([
    [1, 1],
    ['2', 2],
    [' 3 ', 3],
  ])('%j is %j', (count, expected) => {
    expect(compileLoop({ loopType: 'for', count })).toEqual({
      config: { kind: 'for', count: { static: expected } },
      subflow: { count: expected, limit: 100_000 },
      codes: [],
    });
  });

  it.each<[Json]>([[null], [0], [''], ['0']])(
    '%j is 5 with a warning, and an error in a workflow written for Heddle',
    (count) => {
      const importedContainer = compileLoop({ count });
      expect(importedContainer.config).toEqual({ kind: 'for', count: { static: 5 } });
      expect(importedContainer.codes).toEqual(['COUNT_DEFAULTED']);
      expect(compileLoop({ count }, heddleState).codes).toEqual(['COUNT_INVALID']);
    },
  );

  it.each<[Json]>([[-1], [2.5], ['2.5'], ['-1'], ['abc'], [true], [[3]], ['1e3']])(
    '%j is invalid',
    (count) => {
      expect(compileLoop({ count })).toEqual({
        config: undefined,
        subflow: undefined,
        codes: ['COUNT_INVALID'],
      });
      expect(compileParallel({ count }).codes).toEqual(['COUNT_INVALID']);
    },
  );

  it.each([['<start.n>'], ['<p.result> + 1'], ['{{COUNT}}'], ['2 * 3']])(
    '%s is evaluated at run time',
    (count) => {
      const { config, subflow, codes } = compileLoop({ count });
      expect(config).toMatchObject({ kind: 'for', count: { expression: { authored: count } } });
      expect(subflow).toEqual({ limit: 100_000 });
      expect(codes).toEqual([]);
    },
  );

  it('above the limit of a run causes a warning', () => {
    expect(compileParallel({ count: 10_001 }).codes).toEqual(['COUNT_OVER_LIMIT']);
  });
});

describe('a collection', () => {
  const compileForEach = (collection: Json): CompiledContainer =>
    compileLoop({ loopType: 'forEach', collection });
  it.each<[string, Json, Json[]]>([
    ['JSON text', '[1, {"a": 2}]', [1, { a: 2 }]],
    ['text with single quotes', "['a', 'b']", ['a', 'b']],
    [
      'an object as text',
      '{"b": 1, "a": [2]}',
      [
        ['b', 1],
        ['a', [2]],
      ],
    ],
    ['null as text', 'null', []],
    ['a list', [1, '<p.result>'], [1, '<p.result>']],
    [
      'an object',
      { b: 1, a: 2 },
      [
        ['a', 2],
        ['b', 1],
      ],
    ],
  ])('%s is known at compile time', (_, collection, items) => {
    expect(compileForEach(collection)).toEqual({
      config: { kind: 'forEach', collection: { static: items } },
      subflow: { count: items.length, limit: 100_000 },
      codes: [],
    });
  });

  it('of one reference is resolved at run time', () => {
    const { config, subflow, codes } = compileForEach('<p.result.list>');
    expect(config).toMatchObject({
      collection: { reference: { kind: 'block', block: 'p', path: ['result', 'list'] } },
    });
    expect([subflow, codes]).toEqual([{ limit: 100_000 }, []]);
  });

  it('with placeholders is filled in at run time, after its JSON is parsed', () => {
    const { config, subflow } = compileForEach('["{{A}}", "b"]');
    expect(config).toMatchObject({
      collection: { template: { kind: 'list', items: [{ kind: 'text' }, { kind: 'literal', value: 'b' }] } },
    });
    expect(subflow).not.toHaveProperty('count');
  });

  it.each<[Json]>([
    [''],
    [null],
    ['abc'],
    ['5'],
    ['"abc"'],
    [5],
    [`["it's"]`],
    [' <p.result> '],
    ['[<p.result>]'],
  ])('%j fails the container when it is reached, with a warning', (collection) => {
    const { config, subflow, codes } = compileForEach(collection);
    expect(config).toMatchObject({ kind: 'forEach', collection: { invalid: expect.stringMatching(/\.$/) } });
    expect(subflow).not.toHaveProperty('count');
    expect(codes).toEqual(['COLLECTION_INVALID']);
  });

  it('of an unknown block is an error', () => {
    expect(compileForEach('<nosuch.list>').codes).toContain('REFERENCE_UNKNOWN_BLOCK');
    expect(compileForEach('<nosuch.list>').config).toBeUndefined();
  });
});

describe('a loop', () => {
  it('with a condition evaluates it before each iteration; a do-while loop not before the first', () => {
    const condition = '<loop.index> < 3';
    expect(compileLoop({ loopType: 'while', whileCondition: condition })).toMatchObject({
      config: { kind: 'while', condition: { authored: condition } },
      subflow: { perTurn: true, limit: 100_000 },
      codes: [],
    });
    expect(compileLoop({ loopType: 'doWhile', doWhileCondition: condition })).toMatchObject({
      config: { kind: 'doWhile', condition: { authored: condition } },
      subflow: { perTurn: true, firstFree: true, limit: 100_000 },
      codes: [],
    });
  });

  it('without its condition has no iterations; a do-while loop has as many as its count', () => {
    const codes = ['LOOP_CONDITION_MISSING'];
    expect(compileLoop({ loopType: 'while', whileCondition: ' ' })).toEqual({
      config: { kind: 'while', condition: null },
      subflow: { count: 0, limit: 100_000 },
      codes,
    });
    expect(compileLoop({ loopType: 'doWhile', count: 3 })).toEqual({
      config: { kind: 'for', count: { static: 3 } },
      subflow: { count: 3, limit: 100_000 },
      codes,
    });
  });

  it('of an unknown type is an error', () => {
    expect(compileLoop({ loopType: 'until' }).codes).toEqual(['LOOP_TYPE_UNKNOWN']);
  });
});

describe('a parallel', () => {
  it.each<[Json, number, string[]]>([
    [undefined as unknown as Json, 20, []],
    [2, 2, []],
    ['3', 3, []],
    [0, 1, ['BATCH_SIZE_CLAMPED']],
    [50, 20, ['BATCH_SIZE_CLAMPED']],
    [2.7, 2, ['BATCH_SIZE_CLAMPED']],
    ['x', 20, ['BATCH_SIZE_CLAMPED']],
    [null, 20, []],
  ])('with batch size %j opens %j branches at the same time', (batchSize, window, codes) => {
    const container = compileParallel({ count: 2, ...(batchSize !== undefined && { batchSize }) });
    expect([container.subflow?.window, container.codes]).toEqual([window, codes]);
  });

  it('in a workflow written for Heddle opens up to 1,000 branches at the same time', () => {
    const block = { type: 'parallel', data: { count: 2, batchSize: 500 } };
    expect(compileContainer(block, heddleState).subflow?.window).toBe(500);
  });

  it('of an unknown type runs over its collection, with a warning', () => {
    expect(compileParallel({ parallelType: 'weird', collection: '[1]' })).toMatchObject({
      config: { kind: 'parallelCollection', collection: { static: [1] } },
      codes: ['PARALLEL_TYPE_UNKNOWN'],
    });
  });

  it('may collect the errors of its branches', () => {
    expect(compileParallel({ count: 2, onBranchError: 'collect' }).subflow?.collectErrors).toBe(true);
    expect(compileParallel({ count: 2 }).subflow).toEqual({ count: 2, limit: 10_000, window: 20 });
  });
});

describe('the settings of a container', () => {
  const storedMap = { loops: { L: { id: 'L', nodes: ['a'], loopType: 'for', iterations: 7 } } };
  it('are in its data, else in its fields, else in the stored map', () => {
    const fields = { count: 3 };
    const counts = [
      compileContainer({ type: 'loop', data: { count: 2 }, fields }),
      compileContainer({ type: 'loop', fields }, storedMap),
      compileContainer({ type: 'loop' }, storedMap),
    ];
    expect(counts.map(({ subflow }) => subflow?.count)).toEqual([2, 3, 7]);
  });

  it('override the stored map, with a warning', () => {
    const { subflow, codes } = compileLoop({ loopType: 'for', count: 2 }, storedMap);
    expect([subflow?.count, codes]).toEqual([2, ['CONTAINER_MAP_DIFFERS']]);
  });
});
