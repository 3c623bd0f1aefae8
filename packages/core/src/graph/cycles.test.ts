import fc from 'fast-check';
import { DirectedGraph } from 'graphology';
import { describe, expect, it } from 'vitest';
import type { ContainedBlocks } from './containment.ts';
import { findCycles } from './cycles.ts';

function cyclesOf(edges: readonly (readonly [string, string])[]): string[] {
  const graph = new DirectedGraph();
  for (const [from, to] of edges) graph.mergeEdge(from, to);
  const containedBlocks = new Map(
    graph.nodes().map((id) => [id, { block: { name: id } }]),
  ) as unknown as ContainedBlocks;
  return findCycles(graph, containedBlocks).map(({ message }) => message);
}

const cycleMessage = (...names: string[]): string =>
  `The blocks ${names.map((name) => (name.startsWith('…') ? name : `"${name}"`)).join(' → ')} form a cycle.`;

describe('cycles', () => {
  it('are named by their blocks, the smallest id first, without blocks that lead in or out', () => {
    expect(
      cyclesOf([
        ['s', 'c'],
        ['c', 'b'],
        ['b', 'd'],
        ['d', 'c'],
        ['d', 'z'],
      ]),
    ).toEqual([cycleMessage('b', 'd', 'c', 'b')]);
  });

  it('are all reported if they have no block in common', () => {
    expect(
      cyclesOf([
        ['a', 'b'],
        ['b', 'a'],
        ['b', 'x'],
        ['x', 'y'],
        ['y', 'x'],
      ]),
    ).toEqual([cycleMessage('a', 'b', 'a'), cycleMessage('x', 'y', 'x')]);
  });

  it('that share a block are reported as one', () => {
    expect(
      cyclesOf([
        ['a', 'b'],
        ['b', 'a'],
        ['b', 'c'],
        ['c', 'b'],
      ]),
    ).toEqual([cycleMessage('a', 'b', 'a')]);
  });

  it('are found in a ring of ten thousand blocks, and named by their first and last blocks', () => {
    const ring = Array.from({ length: 10_000 }, (_, index): [string, string] => [
      id(index),
      id((index + 1) % 10_000),
    ]);
    function id(index: number): string {
      return `n${String(index).padStart(5, '0')}`;
    }
    const firstNames = Array.from({ length: 8 }, (_, index) => id(index));
    expect(cyclesOf(ring)).toEqual([cycleMessage(...firstNames, '… 9990 more …', id(9998), id(9999), id(0))]);
  });

  it('are reported if and only if the graph has one', () => {
    const arbitrary = fc.array(fc.tuple(fc.nat(7), fc.nat(7)), { maxLength: 16 });
    fc.assert(
      fc.property(arbitrary, (pairs) => {
        const edges = pairs.filter(([a, b]) => a !== b).map(([a, b]) => [`n${a}`, `n${b}`] as const);
        const reachable = new Map<string, Set<string>>();
        for (const [from] of edges) {
          const seen = new Set<string>();
          const queue = [from];
          for (const node of queue) {
            for (const [a, b] of edges) {
              if (a !== node || seen.has(b)) continue;
              seen.add(b);
              queue.push(b);
            }
          }
          reachable.set(from, seen);
        }
        const hasCycle = [...reachable].some(([from, seen]) => seen.has(from));
        expect(cyclesOf(edges).length > 0).toBe(hasCycle);
      }),
    );
  });
});
