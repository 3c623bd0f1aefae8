import { describe, expect, it } from 'vitest';
import type { Node, Region } from '../machine/skeleton.ts';
import { indexPlan } from './index-plan.ts';

const node = (id: string, properties: Partial<Node> = {}): Node => ({
  id,
  kind: 'block',
  class: 'compute',
  ins: [],
  outs: [],
  handlesError: false,
  ...properties,
});
const region = (...nodes: Node[]): Region => ({ nodes, entries: nodes.map((_, index) => index) });
const container = (id: string, kind: 'loop' | 'parallel', ...nodes: Node[]): Node =>
  node(id, { kind, class: 'inline', subflow: { body: region(...nodes), count: 2, limit: 9 } });

const skeleton = region(
  node('start'),
  container(
    'loop',
    'loop',
    node('a'),
    container('fan', 'parallel', node('b'), container('turns', 'loop', node('c'))),
  ),
);
const index = indexPlan({ skeleton });

describe('the index of a plan', () => {
  it.each([
    ['start', [], [0]],
    ['loop', [], [1]],
    ['a', [4], [1, 4, 0]],
    ['fan', [4], [1, 4, 1]],
    ['b', [4, 7], [1, 4, 1, 7, 0]],
    ['c', [4, 7, 2], [1, 4, 1, 7, 1, 2, 0]],
  ])(
    'converts %s with its iteration and branch numbers %j into an address and back',
    (block, scope, address) => {
      expect(index.addressOf(block, scope)).toEqual(address);
      expect(index.placeOf(address)).toEqual({ block, scope });
      expect(index.node(address).id).toBe(block);
    },
  );

  it('returns the containers, the parallels and the top-level node around a block', () => {
    expect(index.byId('c')?.containerIds).toEqual(['loop', 'fan', 'turns']);
    expect(index.byId('c')?.parallelIds).toEqual(['fan']);
    expect(index.byId('fan')?.parallelIds).toEqual([]);
    expect([index.topLevelIndex('start'), index.topLevelIndex('c'), index.topLevelIndex('none')]).toEqual([
      0,
      1,
      undefined,
    ]);
    expect(index.byId('none')).toBeUndefined();
  });

  it('is computed once, and its places are frozen', () => {
    expect(indexPlan({ skeleton })).toBe(index);
    expect(() => index.placeOf([0]).scope.push(1)).toThrow(TypeError);
  });

  it('rejects a block, a depth and an address that the plan does not have', () => {
    expect(() => index.addressOf('none', [])).toThrow(/no block none/);
    expect(() => index.addressOf('b', [1])).toThrow(/is 2 levels deep/);
    expect(() => index.node([1, 0])).toThrow(/no node at address 1\.0/);
    expect(() => index.node([9])).toThrow(/no node at address 9/);
  });
});
