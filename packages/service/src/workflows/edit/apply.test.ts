import type { JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import {
  createAddOperation,
  block,
  createEditOperation,
  edge,
  edit,
  edgeTextsOf,
  graphOf,
  parentData,
  NESTED_GRAPH,
  skippedTypesOf,
  START_GRAPH,
  UUID,
} from '../../../../../test/support/draft-edits.ts';
import { containersOf } from '../containers.ts';

describe('add', () => {
  it('keeps a UUID and replaces any other id, also in later operations', () => {
    const outcome = edit(START_GRAPH, [
      createAddOperation(UUID, { type: 'function', name: 'Kept' }),
      createAddOperation('mine', { type: 'function', name: 'Mine', inputs: { code: 'return 1' } }),
      createEditOperation('mine', { connections: { success: UUID } }),
      createEditOperation('start', { connections: { source: [{ block: 'mine', handle: 'target' }] } }),
    ]);
    expect(outcome.mintedBlockIds).toEqual({ mine: 'new-1' });
    expect(outcome.applied).toBe(4);
    expect(outcome.skipped).toEqual([]);
    expect(edgeTextsOf(outcome)).toEqual([`new-1.source ${UUID}`, 'start.source new-1']);
    expect(outcome.graph.blocks['new-1']).toMatchObject({
      id: 'new-1',
      name: 'Mine',
      subBlocks: { code: { id: 'code', value: 'return 1' } },
    });
  });

  it('adds an edge to a block of a later operation at the end of the batch, and lists it', () => {
    const outcome = edit(START_GRAPH, [
      createEditOperation('start', { connections: { source: 'late' } }),
      createAddOperation('late', { type: 'function', name: 'Late' }),
      createEditOperation('start', { connections: { error: 'never' } }),
    ]);
    expect(outcome.deferred).toEqual([
      { sourceBlockId: 'start', sourceHandle: 'source', targetBlockId: 'new-1' },
    ]);
    expect(skippedTypesOf(outcome)).toEqual(['invalid_edge_target']);
    expect(edgeTextsOf(outcome)).toEqual(['start.source new-1']);
  });

  it.each([
    ['missing_required_params', { type: 'function' }],
    ['missing_required_params', { name: 'A' }],
    ['invalid_block_type', { type: 'functoin', name: 'A' }],
    ['invalid_block_type', { type: '__proto__', name: 'A' }],
    ['invalid_block_type', { type: 'constructor', name: 'A' }],
    ['duplicate_trigger', { type: 'start_trigger', name: 'A' }],
    ['reserved_block_name', { type: 'function', name: 'Loop' }],
    ['duplicate_block_name', { type: 'function', name: 'S t.art' }],
  ])('refuses with %s: %j', (type, params) => {
    const outcome = edit(START_GRAPH, [createAddOperation('a', params)]);
    expect(skippedTypesOf(outcome)).toEqual([type]);
    expect(outcome.applied).toBe(0);
    expect(outcome.graph.blocks).toEqual(START_GRAPH.blocks);
  });

  it('refuses the id of an existing block, and accepts it after that block was deleted', () => {
    const sameIdOperation = createAddOperation('start', { type: 'function', name: 'Other' });
    expect(skippedTypesOf(edit(START_GRAPH, [sameIdOperation]))).toEqual(['duplicate_block_name']);
    const outcome = edit(START_GRAPH, [{ operation_type: 'delete', block_id: 'start' }, sameIdOperation]);
    expect(Object.keys(outcome.graph.blocks)).toEqual(['new-1']);
  });

  it.each([
    ['invalid_subblock_field', { inputs: { cdoe: 'x' } }],
    ['invalid_subblock_field', { inputs: { constructor: 'x' } }],
    ['retry_not_supported', { type: 'human_in_the_loop', retry: { enabled: true } }],
    ['invalid_source_handle', { connections: { 'condition-x': 'start' } }],
    ['invalid_edge_target', { connections: { source: 'start' } }],
    ['invalid_edge_target', { connections: { source: 'self' } }],
    ['invalid_target_handle', { connections: { source: { block: 'z', handle: 'left' } } }],
  ])('skips an invalid parameter with %s and adds the block: %j', (type, params) => {
    const outcome = edit(START_GRAPH, [
      createAddOperation('z', { type: 'function', name: 'Z' }),
      createAddOperation('self', { type: 'function', name: 'Self', ...params }),
    ]);
    expect(skippedTypesOf(outcome)).toEqual([type]);
    expect(outcome.applied).toBe(2);
  });

  it('ignores input that would change the prototype of objects', () => {
    const inputs = JSON.parse('{"__proto__": {"polluted": true}}') as JsonObject;
    const outcome = edit(START_GRAPH, [createAddOperation('l', { type: 'agent', name: 'L', inputs })]);
    expect(Object.getPrototypeOf(outcome.graph.blocks['new-1']?.['subBlocks'])).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('drops a value that the field does not accept; values with references are not checked', () => {
    const outcome = edit(START_GRAPH, [
      createAddOperation('a', {
        type: 'wait',
        name: 'A',
        inputs: { timeValue: 'soon', timeUnit: 'seconds' },
      }),
      createAddOperation('b', { type: 'wait', name: 'B', inputs: { timeValue: '<start.seconds>' } }),
    ]);
    expect(outcome.inputValidationErrors).toEqual([
      { blockId: 'new-1', blockType: 'wait', field: 'timeValue', error: 'expected a number above 0' },
    ]);
    expect(Object.keys(outcome.graph.blocks['new-1']?.['subBlocks'] as JsonObject)).toEqual(['timeUnit']);
    expect(Object.keys(outcome.graph.blocks['new-2']?.['subBlocks'] as JsonObject)).toEqual(['timeValue']);
  });

  it.each([
    [[{ type: 'mcp', params: { serverId: 's' } }], 'tool 1 lacks a field that its type requires'],
    [
      [{ type: 'custom-tool', customToolId: 'c' }, { type: 'custom-tool' }],
      'tool 2 lacks a field that its type requires',
    ],
    [Array.from({ length: 101 }, () => ({ type: 'slack' })), 'expected at most 100 tools, received 101'],
    [{ type: 'slack' }, 'expected a list of tools'],
  ])('refuses tools of an agent: %j', (tools, error) => {
    const outcome = edit(START_GRAPH, [
      createAddOperation('a', { type: 'agent', name: 'A', inputs: { tools } }),
    ]);
    expect(outcome.inputValidationErrors).toMatchObject([{ field: 'tools', error }]);
  });

  it('keeps settings of a container in its data', () => {
    const outcome = edit(START_GRAPH, [
      createAddOperation('l', {
        type: 'loop',
        name: 'L',
        inputs: { loopType: 'forEach', collection: '<start.items>' },
      }),
    ]);
    expect(outcome.graph.loops).toEqual({
      'new-1': {
        id: 'new-1',
        nodes: [],
        enabled: true,
        iterations: 5,
        loopType: 'forEach',
        forEachItems: '<start.items>',
      },
    });
  });

  it('places new blocks at free positions, to the right of the block that leads to them', () => {
    const operations = ['a', 'b', 'c'].map((id) => createAddOperation(id, { type: 'function', name: id }));
    const operationsWithConnections = [
      ...operations,
      createEditOperation('start', { connections: { source: ['a', 'b', 'c'] } }),
    ];
    const positionsOf = (outcome: ReturnType<typeof edit>) =>
      ['new-1', 'new-2', 'new-3'].map((id) => outcome.graph.blocks[id]?.['position']);
    expect(positionsOf(edit(START_GRAPH, operationsWithConnections))).toEqual([
      { x: 400, y: 0 },
      { x: 400, y: 200 },
      { x: 400, y: 400 },
    ]);
    expect(positionsOf(edit(START_GRAPH, operationsWithConnections, { layout: 'none' }))).toEqual(
      Array(3).fill({ x: 0, y: 0 }),
    );
  });
});

describe('edit', () => {
  it('replaces the edges of the named ports only', () => {
    const graph = graphOf(
      [block('a', 'function'), block('b', 'function'), block('c', 'function')],
      [edge('a', 'b'), edge('a', 'b', 'error')],
    );
    expect(edgeTextsOf(edit(graph, [createEditOperation('a', { connections: { source: 'c' } })]))).toEqual([
      'a.error b',
      'a.source c',
    ]);
    expect(edgeTextsOf(edit(graph, [createEditOperation('a', { connections: { success: [] } })]))).toEqual([
      'a.error b',
    ]);
  });

  it('removes an edge, and skips one that does not exist', () => {
    const graph = graphOf([block('a', 'function'), block('b', 'function')], [edge('a', 'b')]);
    const outcome = edit(graph, [
      createEditOperation('a', {
        removeEdges: [{ targetBlockId: 'b' }, { targetBlockId: 'b', sourceHandle: 'error' }],
      }),
    ]);
    expect(edgeTextsOf(outcome)).toEqual([]);
    expect(skippedTypesOf(outcome)).toEqual(['invalid_edge_target']);
  });

  it('accepts the rows of a condition as ports, even if the same batch has changed them', () => {
    const rows = JSON.stringify([{ id: 'yes', title: 'if', value: 'true' }]);
    const graph = graphOf([block('c', 'condition'), block('b', 'function')]);
    const outcome = edit(graph, [
      createEditOperation('c', { connections: { 'condition-yes': 'b' } }),
      createEditOperation('c', { inputs: { conditions: rows }, connections: { 'condition-yes': 'b' } }),
    ]);
    expect(skippedTypesOf(outcome)).toEqual(['invalid_source_handle']);
    expect(edgeTextsOf(outcome)).toEqual(['c.condition-yes b']);
  });

  it('renames a block, even to another spelling of its name, but not to the name of another block', () => {
    const graph = graphOf([block('a', 'function'), block('b', 'function')]);
    const outcome = edit(graph, [
      createEditOperation('a', { name: 'A' }),
      createEditOperation('a', { name: 'B' }),
    ]);
    expect(outcome.graph.blocks['a']?.['name']).toBe('A');
    expect(skippedTypesOf(outcome)).toEqual(['duplicate_block_name']);
  });

  it('adds nested blocks to a container and edits existing ones', () => {
    const outcome = edit(NESTED_GRAPH, [
      createEditOperation('Inner', {
        nestedNodes: {
          leaf: { inputs: { code: 'return 2' } },
          extra: { type: 'function', name: 'Extra' },
        },
        connections: { 'parallel-start-source': ['leaf', 'extra'] },
      }),
    ]);
    expect(outcome.skipped).toEqual([]);
    expect(outcome.graph.parallels['Inner']).toMatchObject({ nodes: ['leaf', 'new-2'] });
    expect(edgeTextsOf(outcome)).toContain('Inner.parallel-start-source new-2');
  });

  it('skips unknown blocks, and names of Object.prototype', () => {
    const ids = ['nobody', '__proto__', 'constructor', 'toString'];
    expect(
      skippedTypesOf(
        edit(
          START_GRAPH,
          ids.map((name) => createEditOperation(name, { name: 'X' })),
        ),
      ),
    ).toEqual(ids.map(() => 'block_not_found'));
  });
});

describe('delete', () => {
  it('deletes a container with everything inside and all their edges', () => {
    const outcome = edit(NESTED_GRAPH, [{ operation_type: 'delete', block_id: 'Outer' }]);
    expect(Object.keys(outcome.graph.blocks)).toEqual(['start', 'end']);
    expect(outcome.graph).toMatchObject({ edges: [], loops: {}, parallels: {} });
  });

  it('does not change locked blocks, or blocks in a locked container', () => {
    const graph = graphOf([
      block('Box', 'loop', { locked: true }),
      block('in', 'function', parentData('Box')),
      block('Outer', 'loop'),
      block('kept', 'function', { ...parentData('Outer'), locked: true }),
    ]);
    const outcome = edit(
      graph,
      [
        ...['Box', 'in', 'Outer', 'kept'].map((block_id) => ({ operation_type: 'delete', block_id })),
        createEditOperation('in', { name: 'New' }),
        {
          operation_type: 'insert_into_subflow',
          block_id: 'n',
          params: { subflowId: 'Box', type: 'wait', name: 'W' },
        },
      ],
      { setBlockEnabled: [{ block_id: 'in', enabled: false }] },
    );
    expect(skippedTypesOf(outcome)).toEqual(Array(7).fill('block_locked'));
    expect(outcome.graph.blocks).toEqual(graph.blocks);
  });
});

describe('containers', () => {
  const insertInto = (block_id: string, params: JsonObject): JsonObject => ({
    operation_type: 'insert_into_subflow',
    block_id,
    params,
  });
  const extractFrom = (block_id: string, subflowId: string): JsonObject => ({
    operation_type: 'extract_from_subflow',
    block_id,
    params: { subflowId },
  });

  it('moves a block into a container and removes the edges that would cross its boundary', () => {
    const outcome = edit(NESTED_GRAPH, [insertInto('end', { subflowId: 'Outer' })]);
    expect(outcome.graph.loops['Outer']).toMatchObject({ nodes: ['Inner', 'end'] });
    // An edge from the container itself to a block inside starts that block.
    expect(edgeTextsOf(outcome)).toEqual([
      'start.source Outer',
      'Outer.loop-start-source Inner',
      'Inner.parallel-start-source leaf',
      'Outer.source end',
    ]);
    const outcomeInInner = edit(NESTED_GRAPH, [insertInto('end', { subflowId: 'Inner' })]);
    expect(edgeTextsOf(outcomeInInner)).not.toContain('Outer.source end');
    expect(outcomeInInner.warnings).toEqual([
      '1 edge of the block "end" was removed: the other end is in another container.',
    ]);
  });

  it('moves a block out of its container into the enclosing one', () => {
    const outcome = edit(NESTED_GRAPH, [extractFrom('leaf', 'Inner')]);
    expect(outcome.graph.loops['Outer']).toMatchObject({ nodes: ['Inner', 'leaf'] });
    expect(outcome.graph.parallels['Inner']).toMatchObject({ nodes: [] });
    const outcomeAtTopLevel = edit(NESTED_GRAPH, [
      extractFrom('leaf', 'Inner'),
      extractFrom('leaf', 'Outer'),
    ]);
    expect(outcomeAtTopLevel.graph.blocks['leaf']?.['data']).toEqual({});
  });

  it.each([
    ['invalid_subflow_parent', insertInto('end', { subflowId: 'start' })],
    ['invalid_subflow_parent', insertInto('end', { subflowId: '__proto__' })],
    ['invalid_subflow_parent', insertInto('start', { subflowId: 'Outer' })],
    ['invalid_subflow_parent', insertInto('n', { subflowId: 'Outer', type: 'schedule', name: 'N' })],
    ['missing_required_params', insertInto('n', { subflowId: 'Outer' })],
    ['nested_subflow_not_allowed', insertInto('Outer', { subflowId: 'Inner' })],
    ['nested_subflow_not_allowed', insertInto('Outer', { subflowId: 'Outer' })],
    ['invalid_subflow_parent', extractFrom('leaf', 'Outer')],
    ['invalid_subflow_parent', extractFrom('end', 'Outer')],
    ['invalid_edge_scope', createEditOperation('start', { connections: { source: ['Outer', 'leaf'] } })],
  ])('refuses with %s: %j', (type, operation) => {
    const outcome = edit(NESTED_GRAPH, [operation]);
    expect(skippedTypesOf(outcome)).toEqual([type]);
    expect(Object.keys(outcome.graph.blocks)).toEqual(Object.keys(NESTED_GRAPH.blocks));
    expect(outcome.graph.loops).toEqual(containersOf(Object.entries(NESTED_GRAPH.blocks)).loops);
  });

  it('refuses to nest containers deeper than the limit', () => {
    const chain = Array.from({ length: 50 }, (_, depth) =>
      block(`L${depth}`, 'loop', depth === 0 ? {} : parentData(`L${depth - 1}`)),
    );
    const graph = graphOf([...chain, block('Box', 'loop'), block('f', 'function')]);
    const tooDeepOutcome = edit(graph, [insertInto('Box', { subflowId: 'L49' })]);
    expect(skippedTypesOf(tooDeepOutcome)).toEqual(['nested_subflow_not_allowed']);
    const deepestOutcome = edit(graph, [
      insertInto('Box', { subflowId: 'L48' }),
      insertInto('f', { subflowId: 'L49' }),
    ]);
    expect(skippedTypesOf(deepestOutcome)).toEqual([]);
  });

  it('enables a block only if no enclosing container is disabled', () => {
    const outcome = edit(NESTED_GRAPH, [createEditOperation('leaf', {})], {
      setBlockEnabled: [
        { block_id: 'Outer', enabled: false },
        { block_id: 'leaf', enabled: false },
        { block_id: 'leaf', enabled: true },
        { block_id: 'gone', enabled: true },
      ],
    });
    expect(skippedTypesOf(outcome)).toEqual(['disabled_ancestor', 'block_not_found']);
    expect(outcome.graph.loops['Outer']).toMatchObject({ enabled: false });
    expect(outcome.graph.blocks['leaf']).toMatchObject({ enabled: false });
  });
});
