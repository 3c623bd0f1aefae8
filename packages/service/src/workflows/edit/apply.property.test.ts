import { parseWorkflow } from '@heddle/core';
import type { Json, JsonObject } from '@heddle/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pickByScale } from '../../../../../test/support/scale.ts';
import {
  createAddOperation,
  block,
  createEditOperation,
  edit,
  graphOf,
  NESTED_GRAPH,
  UUID,
} from '../../../../../test/support/draft-edits.ts';
import { DraftTooLargeError } from './apply.ts';
import { operationsBody } from './schemas.ts';

describe('a hostile batch', () => {
  it('is refused if the draft would be too large', () => {
    const fullGraph = graphOf(Array.from({ length: 2000 }, (_, n) => block(`b${n}`, 'function')));
    expect(() => edit(fullGraph, [createAddOperation('one', { type: 'function', name: 'more' })])).toThrow(
      DraftTooLargeError,
    );
  });

  it.each([
    ['too many operations', { operations: Array.from({ length: 201 }, () => createEditOperation('a', {})) }],
    [
      'too many nested blocks',
      {
        operations: Array.from({ length: 5 }, () =>
          createEditOperation('a', { nestedNodes: emptyNodes(500) }),
        ),
      },
    ],
    [
      'too many connections',
      {
        operations: Array.from({ length: 21 }, () =>
          createEditOperation('a', { connections: { source: Array(500).fill('b') } }),
        ),
      },
    ],
    ['an undeclared key', { operations: [{ ...createEditOperation('a', {}), more: 1 }] }],
    ['an undeclared parameter', { operations: [createEditOperation('a', { typo: 1 })] }],
    ['no operation', { operations: [] }],
  ])('is refused with %s', (_, body) => {
    expect(operationsBody.safeParse(body).success).toBe(false);
  });
});

function emptyNodes(count: number): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, {}]));
}

describe('any sequence of operations', () => {
  const id = fc.constantFrom('start', 'Outer', 'Inner', 'leaf', 'end', 'p', 'q', UUID, '__proto__');
  const type = fc.constantFrom(
    'function',
    'loop',
    'parallel',
    'condition',
    'start_trigger',
    'wait',
    'nonsense',
  );
  const handle = fc.constantFrom(
    'source',
    'success',
    'error',
    'loop-start-source',
    'parallel-start-source',
    'x',
  );
  const connections = fc.dictionary(handle, fc.oneof(id, fc.array(id, { maxLength: 3 })), { maxKeys: 3 });
  const name = fc.constantFrom('A', 'B', 'C', 'loop', 'Outer');
  const params = fc.record(
    {
      type,
      name,
      connections,
      inputs: fc.dictionary(fc.constantFrom('code', 'count', 'zz'), fc.jsonValue()),
    },
    { requiredKeys: [] },
  );
  const operation = fc.oneof(
    fc.record({ operation_type: fc.constant('add'), block_id: id, params }),
    fc.record({
      operation_type: fc.constant('edit'),
      block_id: id,
      params: fc.record(
        { name, connections, nestedNodes: fc.dictionary(id, params, { maxKeys: 2 }) },
        { requiredKeys: [] },
      ),
    }),
    fc.record({ operation_type: fc.constant('delete'), block_id: id }),
    fc.record({
      operation_type: fc.constant('insert_into_subflow'),
      block_id: id,
      params: fc.tuple(id, params).map(([subflowId, blockParams]) => ({ ...blockParams, subflowId })),
    }),
    fc.record({
      operation_type: fc.constant('extract_from_subflow'),
      block_id: id,
      params: fc.record({ subflowId: id }),
    }),
  );

  it('does not change the original graph, and returns a valid one, whose containers and edges match its blocks', () => {
    fc.assert(
      fc.property(fc.array(operation, { minLength: 1, maxLength: 12 }), (operations) => {
        const jsonBefore = JSON.stringify(NESTED_GRAPH);
        const { graph, applied, skipped } = edit(NESTED_GRAPH, operations as Json[]);
        expect(JSON.stringify(NESTED_GRAPH)).toBe(jsonBefore);
        expect(applied).toBeLessThanOrEqual(operations.length);
        expect(skipped.every(({ reason }) => reason.length > 0)).toBe(true);
        const { workflow, diagnostics } = parseWorkflow({ state: graph });
        expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
        expect(workflow?.blocks).toHaveLength(Object.keys(graph.blocks).length);
        for (const { source, target } of graph.edges) {
          expect(Object.hasOwn(graph.blocks, source as string)).toBe(true);
          expect(Object.hasOwn(graph.blocks, target as string)).toBe(true);
        }
        for (const [containerId, container] of Object.entries({ ...graph.loops, ...graph.parallels })) {
          const children = Object.entries(graph.blocks).filter(
            ([, { data }]) => (data as JsonObject | undefined)?.['parentId'] === containerId,
          );
          expect((container as JsonObject)['nodes']).toEqual(children.map(([child]) => child));
        }
        for (const { data } of Object.values(graph.blocks)) {
          const parent = (data as JsonObject | undefined)?.['parentId'];
          if (typeof parent !== 'string') continue;
          expect(['loop', 'parallel']).toContain(graph.blocks[parent]?.['type']);
        }
      }),
      { numRuns: pickByScale(150, 5000) },
    );
  });
});
