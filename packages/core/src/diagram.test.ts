import { describe, expect, it } from 'vitest';
import { toDiagram } from './diagram.ts';

const STATE = {
  blocks: {
    which: {
      name: 'Which',
      type: 'condition',
      position: { x: 1, y: 2 },
      subBlocks: {
        conditions: { value: '[{"id":"a","title":"if"},{"id":"b"}]' },
        empty: { value: '' },
        absent: { value: null },
      },
      timeoutMs: 500,
      triggerMode: false,
    },
    repeat: { name: 'Repeat', type: 'loop', data: { loopType: 'for', count: 3, width: 500 } },
    step: {
      name: 'Step',
      type: 'function',
      enabled: false,
      data: { parentId: 'repeat', extent: 'parent' },
      subBlocks: { code: { value: 'return 1' }, timeout: { value: { ms: 5 } } },
    },
  },
  edges: [
    { source: 'which', target: 'repeat', sourceHandle: 'condition-a' },
    { source: 'repeat', target: 'step', sourceHandle: 'loop-start-source' },
    { source: 'which', target: 'repeat' },
  ],
};

describe('the graph of a state', () => {
  it('has the blocks in their containers, the ports with their titles, and the edges', () => {
    const graph = toDiagram(STATE);
    expect(graph.blocks.map(({ name, parentId }) => [name, parentId])).toEqual([
      ['Which', null],
      ['Repeat', null],
      ['Step', 'repeat'],
    ]);
    expect(graph.blocks[0]).toMatchObject({
      position: { x: 1, y: 2 },
      ports: [
        { id: 'condition-a', title: 'if' },
        { id: 'condition-b', title: '' },
      ],
    });
    expect(graph.blocks.map(({ enabled }) => enabled)).toEqual([true, true, false]);
    expect(graph.edges.map(({ port }) => port)).toEqual(['condition-a', 'loop-start-source', 'source']);
  });

  it('is read from drafts even if their parts have wrong types', () => {
    const blocks = {
      a: null,
      b: { name: 7, type: {}, data: 'x', position: [], subBlocks: { conditions: { value: '{' } } },
      c: { data: { parentId: 'c' } },
      d: { data: { parentId: '' } },
      e: { parentId: 'c' },
    };
    const graph = toDiagram({ blocks, edges: [7, { source: 1, target: null, sourceHandle: {} }] });
    expect(graph.blocks.map(({ id, name, type, ports }) => ({ id, name, type, ports }))).toEqual(
      ['b', 'c', 'd', 'e'].map((id) => ({ id, name: id, type: '', ports: [] })),
    );
    expect(graph.edges).toEqual([{ source: '', target: '', port: 'source' }]);
    expect(graph.blocks.map(({ parentId }) => parentId)).toEqual([null, 'c', null, 'c']);
    expect(toDiagram({ blocks: [], edges: {} })).toEqual({ blocks: [], edges: [] });
  });
});
