import { describe, expect, it } from 'vitest';
import { measureCpuMs } from '../../../../test/support/cpu.ts';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { compareGraphs } from './compare.ts';
import type { ComparedGraph } from './compare.ts';

function createBlock(id: string, overrides: JsonObject = {}): JsonObject {
  return { id, type: 'function', name: `Block ${id}`, position: { x: 0, y: 0 }, subBlocks: {}, ...overrides };
}

function createGraph(blocks: JsonObject[], overrides: Partial<ComparedGraph> = {}): ComparedGraph {
  return {
    blocks: Object.fromEntries(blocks.map((draftBlock) => [draftBlock['id'], draftBlock])),
    edges: [],
    ...overrides,
  };
}

function subBlocksWith(value: Json, type = 'code'): JsonObject {
  return { code: { id: 'code', type, value } };
}

describe('compareGraphs', () => {
  it('finds no difference in positions, sizes, edge ids, key order, sub-block types and defaults', () => {
    const base = createGraph(
      [createBlock('a', { subBlocks: subBlocksWith({ x: 1, y: 2 }) }), createBlock('b')],
      {
        edges: [{ id: 'e1', source: 'a', target: 'b', sourceHandle: 'source' }],
        variables: { v1: { id: 'v1', name: 'n', type: 'string', value: 'x' } },
      },
    );
    const ignoredFields: JsonObject = { position: { x: 9, y: 9 }, height: 40, enabled: true, locked: false };
    const data: JsonObject = { width: 1, height: 2 };
    const target = createGraph(
      [
        createBlock('b', { ...ignoredFields, data }),
        createBlock('a', { subBlocks: subBlocksWith({ y: 2, x: 1 }, 'short-input') }),
      ],
      {
        edges: [{ id: 'e2', source: 'a', target: 'b', sourceHandle: null, targetHandle: 'target' }],
        variables: { v2: { id: 'v2', name: 'n', type: 'string', value: 'x' } },
        loops: {},
      },
    );
    const noDifference = { added: [], removed: [], changed: [] };
    expect(compareGraphs(base, target)).toEqual({
      identical: true,
      blocks: noDifference,
      edges: { added: [], removed: [] },
      loops: noDifference,
      parallels: noDifference,
      variables: noDifference,
    });
  });

  it('names added, removed and changed blocks, and every changed field', () => {
    const base = createGraph([createBlock('a', { subBlocks: subBlocksWith('old') }), createBlock('gone')]);
    const target = createGraph([
      createBlock('a', {
        name: 'New',
        enabled: false,
        subBlocks: { ...subBlocksWith('new'), extra: 'x' },
        data: { count: 3 },
      }),
      createBlock('new'),
    ]);
    const { identical, blocks } = compareGraphs(base, target);
    expect(identical).toBe(false);
    expect(blocks).toEqual({
      added: [{ id: 'new', type: 'function', name: 'Block new' }],
      removed: [{ id: 'gone', type: 'function', name: 'Block gone' }],
      changed: [
        {
          id: 'a',
          type: 'function',
          name: 'New',
          subBlocks: ['code', 'extra'],
          fields: ['data', 'enabled', 'name'],
        },
      ],
    });
  });

  it('compares edges by the blocks and handles that they connect', () => {
    const base = createGraph([], { edges: [{ id: '1', source: 'a', target: 'b' }] });
    const target = createGraph([], { edges: [{ id: '1', source: 'a', target: 'b', sourceHandle: 'error' }] });
    const defaults = { source: 'a', target: 'b', sourceHandle: null, targetHandle: null };
    expect(compareGraphs(base, target).edges).toEqual({
      added: [{ ...defaults, sourceHandle: 'error' }],
      removed: [defaults],
    });
  });

  it('compares containers by id and variables by name', () => {
    const base = createGraph([], {
      loops: { l: { id: 'l', iterations: 3 }, m: { id: 'm' } },
      parallels: { p: { id: 'p', count: 1 } },
      variables: { v: { id: 'v', name: 'n', value: 1 }, w: { id: 'w', name: 'old' } },
    });
    const target = createGraph([], {
      loops: { l: { id: 'l', iterations: 4 } },
      parallels: { p: { id: 'p', count: 1 }, q: { id: 'q' } },
      variables: { x: { id: 'x', name: 'n', value: 2 }, y: { id: 'y', name: 'new' } },
    });
    const { loops, parallels, variables } = compareGraphs(base, target);
    expect(loops).toEqual({ added: [], removed: ['m'], changed: ['l'] });
    expect(parallels).toEqual({ added: ['q'], removed: [], changed: [] });
    expect(variables).toEqual({ added: ['new'], removed: ['old'], changed: ['n'] });
  });

  it('shows no values, which may be secrets', () => {
    const base = createGraph([createBlock('a', { subBlocks: subBlocksWith('hunter1') })]);
    const target = createGraph([createBlock('a', { subBlocks: subBlocksWith('hunter2') })], {
      variables: { v: { id: 'v', name: 'n', value: 'hunter3' } },
    });
    expect(JSON.stringify(compareGraphs(base, target))).not.toContain('hunter');
  });

  it('reads names of Object.prototype as ordinary keys', () => {
    const blocksById = JSON.parse('{"__proto__":{"type":"api"},"constructor":{"type":"api"}}') as JsonObject;
    const { blocks } = compareGraphs({ blocks: {}, edges: [] }, { blocks: blocksById, edges: [] });
    expect(blocks.added.map(({ id }) => id)).toEqual(['__proto__', 'constructor']);
    expect(
      compareGraphs({ blocks: blocksById, edges: [] }, { blocks: {}, edges: [] }).blocks.removed,
    ).toHaveLength(2);
  });

  it('accepts stored graphs with values that are not objects', () => {
    const malformedGraph: ComparedGraph = {
      blocks: { a: null, b: [1] },
      edges: [null, 'x'],
      variables: { v: 3 },
    };
    expect(compareGraphs(malformedGraph, malformedGraph).identical).toBe(true);
  });

  it('compares the largest drafts in linear time', () => {
    const blocks = Array.from({ length: 2000 }, (_, n) =>
      createBlock(`b${n}`, { subBlocks: subBlocksWith(n) }),
    );
    const edges = Array.from({ length: 10_000 }, (_, n) => ({
      source: `b${n % 2000}`,
      target: `b${n % 1999}`,
    }));
    const [first, second] = [
      createGraph(blocks, { edges }),
      createGraph(blocks.toReversed(), { edges: edges.toReversed() }),
    ];
    const cpuMs = measureCpuMs(() => expect(compareGraphs(first, second).identical).toBe(true));
    expect(cpuMs).toBeLessThan(2000);
  });
});
