import { describe, expect, it } from 'vitest';
import { loop, parallel, region } from '../../../../test/support/graph.ts';
import { startMachine } from '../../../../test/support/run-machine.ts';
import { pendingCommands } from './pending-commands.ts';
import { initialState } from './step.ts';

// The R numbers in titles are the rules of docs/semantics.md.

const retry = { maxTries: 3, waitMs: 5, backoff: 1, maxWaitMs: 5, jitter: 0 };

describe('the pending commands of a state', () => {
  it('are all commands without an answer (R31)', () => {
    const graph = region('s -> run, try, wait, pause, child, L, P', {
      run: { timeoutMs: 30 },
      try: { retry },
      child: { class: 'child' },
      L: loop(region('x')),
      P: parallel(region('x', 'y'), { count: 2 }),
    });
    const { run } = startMachine(graph, { timeoutMs: 999 });
    run.complete('s');
    run.fail('try');
    run.wait('wait');
    run.pause('pause');
    run.block('child', 'human');
    run.complete('P/0/x');
    expect(run.pendingCommands()).toEqual([
      'expand L 0',
      'run P/0/y',
      'run P/1/x',
      'run P/1/y',
      'run child',
      'open pause',
      'run run',
      'timer run timeout 1030',
      'timer try retry 1005',
      'timer wait wait 1100',
      'timer deadline 1999',
    ]);
  });

  it('contain the number of the attempt (R31)', () => {
    const { run } = startMachine(region('a', { a: { retry: { ...retry, waitMs: 0 } } }));
    run.fail('a');
    expect(run.pendingCommands()).toEqual(['run a #2']);
  });

  it('include the grace timers of the run, a container and a branch (R31)', () => {
    const body = region('x', 'y');
    const graph = region('s -> P, Q', 'Q:error -> h', {
      P: parallel(body, { count: 1, collectErrors: true }),
      Q: parallel(body, { count: 1 }),
    });
    const { run } = startMachine(graph);
    run.complete('s');
    run.fail('P/0/x');
    run.fail('Q/0/x');
    expect(run.pendingCommands()).toEqual([
      'timer P/0 grace 1050',
      'run P/0/y',
      'timer Q grace 1050',
      'run Q/0/y',
    ]);
    const secondMachine = startMachine(region('s -> a, b'));
    secondMachine.run.complete('s');
    secondMachine.run.fail('a');
    expect(secondMachine.run.pendingCommands()).toEqual(['run b', 'timer grace 1050']);
  });

  it('are empty before the start and after the end (R31)', () => {
    expect(pendingCommands(region('a'), initialState())).toEqual([]);
    const { run } = startMachine(region('a'), { timeoutMs: 5 });
    run.complete('a');
    expect(run.pendingCommands()).toEqual([]);
  });
});
