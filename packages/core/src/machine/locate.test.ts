import { expect, it } from 'vitest';
import { addressOf, loop, parallel, region } from '../../../../test/support/graph.ts';
import { startMachine } from '../../../../test/support/run-machine.ts';
import { countAt, workAt } from './locate.ts';

// The R numbers in titles are the rules of docs/semantics.md.

it('work is found at its address, and only there (R31)', () => {
  const graph = region('L -> a', { L: loop(region('x', { x: { timeoutMs: 5 } }), { count: 1 }) });
  const { run } = startMachine(graph);
  expect(workAt(graph, run.state, addressOf(graph, 'L/0/x'))).toEqual({ w: 'run', try: 1, dueMs: 1005 });
  for (const name of ['L', 'a', '']) expect(workAt(graph, run.state, addressOf(graph, name))).toBeUndefined();
  run.complete('L/0/x');
  expect(workAt(graph, run.state, [0, 0, 0])).toBeUndefined();
});

it('the number of iterations or branches of an open container is returned once it is known (R10)', () => {
  const graph = region('P -> W', { P: parallel(region('x')), W: loop(region('y'), { perTurn: true }) });
  const { run } = startMachine(graph);
  const countOf = (name: string): number | undefined => countAt(graph, run.state, addressOf(graph, name));
  expect(countOf('P')).toBeUndefined();
  run.expand('P', 1);
  expect([countOf('P'), countOf('P/0/x'), countOf('W')]).toEqual([1, undefined, undefined]);
  run.complete('P/0/x');
  run.expand('W', 1);
  expect([countOf('P'), countOf('W')]).toEqual([undefined, undefined]);
});
