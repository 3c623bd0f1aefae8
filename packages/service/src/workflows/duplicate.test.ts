import type { JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { block, edge, graphOf, parentData, NESTED } from '../../../../test/support/draft-edits.ts';
import { freeName, withNewIds } from './duplicate.ts';

const A = 'aaaaaaaa-0000-4000-8000-000000000001';
const B = 'aaaaaaaa-0000-4000-8000-000000000002';

function sequentialIds(): () => string {
  let next = 0;
  return () => `bbbbbbbb-0000-4000-8000-${String((next += 1)).padStart(12, '0')}`;
}

const field = (value: unknown) => ({ subBlocks: { x: { id: 'x', type: 'code', value } } }) as JsonObject;

describe('a copy of a draft', () => {
  it('has only new ids, and its loops and parallels list the new ids of its blocks', () => {
    const copy = withNewIds(NESTED, sequentialIds());
    const before = [...Object.keys(NESTED.blocks), ...NESTED.edges.map(({ id }) => id)];
    const after = [...Object.keys(copy.blocks), ...copy.edges.map(({ id }) => id)];
    expect(after.filter((id) => before.includes(id as string))).toEqual([]);
    expect(new Set(after).size).toBe(before.length);
    const idOf = (name: string) => Object.values(copy.blocks).find((each) => each['name'] === name)?.['id'];
    expect(copy.loops).toMatchObject({ [idOf('Outer') as string]: { nodes: [idOf('Inner')] } });
    expect(copy.parallels).toMatchObject({ [idOf('Inner') as string]: { nodes: [idOf('leaf')] } });
    expect(copy.edges[0]).toMatchObject({ source: idOf('start'), target: idOf('Outer') });
  });

  it('replaces ids of the original in fields and inside strings, but not ids that are words, names, and ids of others', () => {
    const graph = graphOf([
      block(A, 'function', {
        name: B,
        ...field(`read ${B}-if, start, cccccccc-0000-4000-8000-000000000001`),
      }),
      block(B, 'function', field({ deep: [A] })),
      block('start', 'function'),
    ]);
    const copy = withNewIds(graph, sequentialIds());
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
    const copy = withNewIds(graph, sequentialIds());
    const [c] = Object.keys(copy.blocks);
    expect(copy.edges[0]?.['sourceHandle']).toBe(handle === 'condition-row' ? handle : `condition-${c}-if`);
  });

  it('has new ids of variables, also in fields', () => {
    const graph = {
      ...graphOf([block('v', 'variables', field([{ variableId: 'rate' }]))]),
      variables: { rate: { id: 'rate', name: 'Rate', type: 'number', value: 1 } },
    };
    const copy = withNewIds(graph, sequentialIds());
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
    const before = JSON.stringify(graph);
    const copy = withNewIds(graph, sequentialIds());
    expect(JSON.stringify(graph)).toBe(before);
    expect(Object.getPrototypeOf(Object.values(copy.blocks)[0]?.['data'])).toBe(Object.prototype);
  });
});

describe('the name of a copy', () => {
  it('is the first that is free', () => {
    expect(freeName('A', new Set())).toBe('A');
    expect(freeName('A', new Set(['A', 'A (2)']))).toBe('A (3)');
    expect(freeName('x'.repeat(255), new Set(['x'.repeat(255)]))).toBe(`${'x'.repeat(251)} (2)`);
  });
});
