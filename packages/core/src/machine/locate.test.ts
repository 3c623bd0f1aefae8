import { expect, it } from 'vitest';
import { addressOf, loop, region } from '../../../../test/support/graph.ts';
import { play } from '../../../../test/support/play.ts';
import { workAt } from './locate.ts';

it('R31 the work at an address is found, and only there', () => {
  const graph = region('L -> a', { L: loop(region('x', { x: { timeoutMs: 5 } }), { count: 1 }) });
  const { run } = play(graph);
  expect(workAt(graph, run.state, addressOf(graph, 'L/0/x'))).toEqual({ w: 'run', try: 1, dueMs: 1005 });
  for (const name of ['L', 'a']) expect(workAt(graph, run.state, addressOf(graph, name))).toBeUndefined();
  run.complete('L/0/x');
  expect(workAt(graph, run.state, [0, 0, 0])).toBeUndefined();
});
