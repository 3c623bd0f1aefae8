import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StringHeap, topologicalOrder } from './order.ts';

describe('the heap', () => {
  it('returns strings in code-unit order, for any sequence of pushes and pops', () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(fc.string({ maxLength: 3 }), fc.constant(undefined)), { maxLength: 60 }),
        (steps) => {
          const heap = new StringHeap();
          const model: string[] = [];
          for (const step of steps) {
            if (step !== undefined) {
              heap.push(step);
              model.push(step);
              model.sort();
            }
            expect(step === undefined ? heap.pop() : undefined).toBe(
              step === undefined ? model.shift() : undefined,
            );
            expect(heap.size).toBe(model.length);
          }
        },
      ),
    );
  });
});

describe('topological order', () => {
  const graph = (edges: { [node: string]: string[] }): Map<string, { target: string }[]> =>
    new Map(Object.entries(edges).map(([node, targets]) => [node, targets.map((target) => ({ target }))]));

  it('breaks ties by id', () => {
    expect(topologicalOrder(['d', 'c', 'b', 'a'], graph({ d: ['a'], c: ['b'] }))).toEqual([
      'c',
      'b',
      'd',
      'a',
    ]);
  });

  it('counts several edges between the same nodes as one', () => {
    expect(topologicalOrder(['a', 'b', 'c'], graph({ a: ['c', 'c'], c: ['b', 'b'] }))).toEqual([
      'a',
      'c',
      'b',
    ]);
  });

  it('omits a cycle and its successors', () => {
    expect(topologicalOrder(['a', 'b', 'c', 'd'], graph({ b: ['c'], c: ['b', 'd'] }))).toEqual(['a']);
  });

  it('puts every node after its sources', () => {
    const arbitrary = fc.array(fc.tuple(fc.nat(20), fc.nat(20)), { maxLength: 60 });
    fc.assert(
      fc.property(arbitrary, (pairs) => {
        const edges: { [node: string]: string[] } = {};
        for (const [a, b] of pairs)
          if (a !== b) (edges[`n${Math.min(a, b)}`] ??= []).push(`n${Math.max(a, b)}`);
        const nodes = Array.from({ length: 21 }, (_, index) => `n${index}`);
        const order = topologicalOrder(nodes, graph(edges));
        expect(order.toSorted()).toEqual(nodes.toSorted());
        for (const [from, targets] of Object.entries(edges)) {
          for (const to of targets) expect(order.indexOf(from)).toBeLessThan(order.indexOf(to));
        }
      }),
    );
  });
});
