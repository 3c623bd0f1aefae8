import type { JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { block, edge, graphOf, parentData, NESTED_GRAPH } from '../../../../test/support/draft-edits.ts';
import { findFreeName, withNewIds } from './duplicate.ts';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'aaaaaaaa-0000-4000-8000-000000000002';

function createIdGenerator(): () => string {
  let lastNumber = 0;
  return () => `bbbbbbbb-0000-4000-8000-${String((lastNumber += 1)).padStart(12, '0')}`;
}

const propertiesWithField = (value: unknown) =>
  ({ subBlocks: { x: { id: 'x', type: 'code', value } } }) as JsonObject;

describe('a copy of a draft', () => {
  it('has only new ids, and its loops and parallels list the new ids of its blocks', () => {
    const copy = withNewIds(NESTED_GRAPH, createIdGenerator());
    const oldIds = [...Object.keys(NESTED_GRAPH.blocks), ...NESTED_GRAPH.edges.map(({ id }) => id)];
    const newIds = [...Object.keys(copy.blocks), ...copy.edges.map(({ id }) => id)];
    expect(newIds.filter((id) => oldIds.includes(id as string))).toEqual([]);
    expect(new Set(newIds).size).toBe(oldIds.length);
    const idOf = (name: string) =>
      Object.values(copy.blocks).find((candidate) => candidate['name'] === name)?.['id'];
    expect(copy.loops).toMatchObject({ [idOf('Outer') as string]: { nodes: [idOf('Inner')] } });
    expect(copy.parallels).toMatchObject({ [idOf('Inner') as string]: { nodes: [idOf('leaf')] } });
    expect(copy.edges[0]).toMatchObject({ source: idOf('start'), target: idOf('Outer') });
  });

  it('replaces ids of the original in fields and inside strings, but not names, ids that are words, or ids of other graphs', () => {
    const graph = graphOf([
      block(A, 'function', {
        name: B,
        ...propertiesWithField(`read ${B}-if, start, cccccccc-0000-4000-8000-000000000001`),
      }),
      block(B, 'function', propertiesWithField({ deep: [A] })),
      block('start', 'function'),
    ]);
    const copy = withNewIds(graph, createIdGenerator());
    const [a, b] = Object.keys(copy.blocks);
    expect(copy.blocks[a!]).toMatchObject({
      name: B,
      subBlocks: { x: { value: `read ${b}-if, start, cccccccc-0000-4000-8000-000000000001` } },
    });
    expect(copy.blocks[b!]).toMatchObject({ subBlocks: { x: { value: { deep: [a] } } } });
  });

  it.each([
    ['ids derived from the id of the block', [{ title: 'if', value: 'true' }], 'condition-c-if'],
    ['their own ids', [{ id: 'row', title: 'if', value: 'true' }], 'condition-row'],
  ])('keeps edges of condition branches with %s', (_, rows, handle) => {
    const conditions = {
      subBlocks: { conditions: { id: 'conditions', type: 'x', value: JSON.stringify(rows) } },
    };
    const graph = graphOf(
      [block('c', 'condition', conditions), block('d', 'function')],
      [edge('c', 'd', handle)],
    );
    const copy = withNewIds(graph, createIdGenerator());
    const [c] = Object.keys(copy.blocks);
    expect(copy.edges[0]?.['sourceHandle']).toBe(handle === 'condition-row' ? handle : `condition-${c}-if`);
  });

  it('has new ids of variables, also in fields', () => {
    const graph = {
      ...graphOf([block('v', 'variables', propertiesWithField([{ variableId: 'rate' }]))]),
      variables: { rate: { id: 'rate', name: 'Rate', type: 'number', value: 1 } },
    };
    const copy = withNewIds(graph, createIdGenerator());
    const [variable] = Object.keys(copy.variables);
    expect(copy.variables).toEqual({ [variable!]: { ...graph.variables.rate, id: variable } });
    expect(Object.values(copy.blocks)[0]).toMatchObject({
      subBlocks: { x: { value: [{ variableId: variable }] } },
    });
  });

  it('changes neither the original nor the prototype of objects', () => {
    const graph = graphOf([
      block('a', 'function', JSON.parse('{"data": {"__proto__": "x"}}') as JsonObject),
      block('b', 'loop', parentData('a')),
    ]);
    const jsonBefore = JSON.stringify(graph);
    const copy = withNewIds(graph, createIdGenerator());
    expect(JSON.stringify(graph)).toBe(jsonBefore);
    expect(Object.getPrototypeOf(Object.values(copy.blocks)[0]?.['data'])).toBe(Object.prototype);
  });
});

describe('the name of a copy', () => {
  it('is the first that is free', () => {
    expect(findFreeName('A', new Set())).toBe('A');
    expect(findFreeName('A', new Set(['A', 'A (2)']))).toBe('A (3)');
    expect(findFreeName('x'.repeat(255), new Set(['x'.repeat(255)]))).toBe(`${'x'.repeat(251)} (2)`);
  });
});
