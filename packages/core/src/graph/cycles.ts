import type { DirectedGraph } from 'graphology';
import { stronglyConnectedComponents } from 'graphology-components';
import { diagnostic } from '../plan/codes.ts';
import type { Diagnostic } from '../plan/diagnostic.ts';
import type { Places } from './containment.ts';

/** One diagnostic for each knot of blocks that wait for each other, naming one circle in it. */
export function findCycles(graph: DirectedGraph, places: Places): Diagnostic[] {
  return stronglyConnectedComponents(graph)
    .filter((knot) => knot.length > 1)
    .map((knot) => knot.toSorted())
    .toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1))
    .map((knot) => {
      const circle = circleIn(graph, knot);
      const names = [...circle, circle[0] as string].map((id) => `"${places.get(id)?.block.name}"`);
      const rest = knot.length > circle.length ? ` (${knot.length} blocks are part of the knot)` : '';
      return diagnostic('CYCLE', {
        blockId: circle[0] as string,
        path: ['blocks', circle[0] as string],
        message: `The blocks ${names.join(' → ')} wait for each other in a circle${rest}.`,
        hint: 'Remove one of these edges; to repeat blocks, put them into a loop.',
      });
    });
}

/** The shortest circle through the first block of a knot (breadth-first). */
function circleIn(graph: DirectedGraph, knot: readonly string[]): string[] {
  const inside = new Set(knot);
  const first = knot[0] as string;
  const cameFrom = new Map<string, string>();
  const queue = [first];
  for (const node of queue) {
    for (const target of graph.outNeighbors(node).toSorted()) {
      if (target === first) return pathTo(node, cameFrom);
      if (!inside.has(target) || cameFrom.has(target)) continue;
      cameFrom.set(target, node);
      queue.push(target);
    }
  }
  return [...knot];
}

function pathTo(node: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const path: string[] = [];
  for (let at: string | undefined = node; at !== undefined; at = cameFrom.get(at)) path.push(at);
  return path.toReversed();
}
