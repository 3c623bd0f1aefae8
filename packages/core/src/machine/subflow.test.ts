import { describe, expect, it } from 'vitest';
import { loop, parallel, region } from '../../../../test/support/graph.ts';
import { startMachine } from '../../../../test/support/run-machine.ts';

// The R numbers in titles are the rules of docs/semantics.md.

const x = region('x');

describe('a frame', () => {
  it('closes when every node in it is settled, by any outcome (R7)', () => {
    const body = region('if:yes -> a -> b', 'if:no -> c');
    const { run } = startMachine(region({ L: loop(body, { count: 2 }) }));
    expect(run.complete('L/0/if', 'no')).toEqual(['run L/0/c']);
    expect(run.complete('L/0/c')).toEqual(['run L/1/if']);
    expect(run.transitions).toEqual(['closed L 0', 'opened L 1']);
  });

  it('with a dead end ends only its own iteration (R7)', () => {
    const { run } = startMachine(region('L -> after', { L: loop(region('if:yes -> a'), { count: 2 }) }));
    expect(run.complete('L/0/if', 'none')).toEqual(['run L/1/if']);
    expect(run.complete('L/1/if', 'none')).toEqual(['run after']);
  });

  it('resets its joins: each iteration takes its own path (R7)', () => {
    const body = region('if:yes -> a -> j', 'if:no -> b -> j');
    const { run } = startMachine(region({ L: loop(body, { count: 2 }) }));
    expect(run.complete('L/0/if', 'yes')).toEqual(['run L/0/a']);
    expect(run.complete('L/0/a')).toEqual(['run L/0/j']);
    expect(run.complete('L/0/j')).toEqual(['run L/1/if']);
    expect(run.complete('L/1/if', 'no')).toEqual(['run L/1/b']);
    expect(run.complete('L/1/b')).toEqual(['run L/1/j']);
  });

  it('without nodes closes immediately (R7)', () => {
    expect(startMachine(region('L -> a', { L: loop(region(), { count: 3 }) })).firstCommands).toEqual([
      'run a',
    ]);
  });
});

describe('a loop', () => {
  it('runs its iterations one after another (R8)', () => {
    const { run, firstCommands } = startMachine(region('L -> a', { L: loop(x, { count: 2 }) }));
    expect(firstCommands).toEqual(['run L/0/x']);
    expect(run.complete('L/0/x')).toEqual(['run L/1/x']);
    expect(run.complete('L/1/x')).toEqual(['run a']);
    expect(run.transitions).toEqual(['closed L 1', 'exited L 2']);
  });

  it('is awaited by the container around it, like a block (R8)', () => {
    const inner = region('L -> y', { L: loop(x, { count: 2 }) });
    const { run } = startMachine(region({ P: parallel(inner, { count: 1 }) }));
    run.complete('P/0/L/0/x');
    expect(run.complete('P/0/L/1/x')).toEqual(['run P/0/y']);
    expect(run.complete('P/0/y')).toEqual(['end completed']);
  });
});

describe('a start inside containers', () => {
  const frame = { iteration: 1, node: 0, count: 3, next: 2 };

  it('continues a loop from one block of one iteration, and runs the later iterations (R1, R8)', () => {
    const body = region('a -> b -> d', 'a -> c -> d');
    const graph = region('L -> after', { L: loop(body, { count: 3 }) });
    const { run, firstCommands } = startMachine(graph, { inside: [{ ...frame, node: 1 }] });
    expect(firstCommands).toEqual(['run L/1/b']);
    expect(run.transitions).toEqual(['entered L', 'opened L 1']);
    expect(run.pendingCommands()).toEqual(['run L/1/b']);
    expect(run.complete('L/1/b')).toEqual(['run L/1/d']);
    expect(run.complete('L/1/d')).toEqual(['run L/2/a']);
  });

  it('lets a while loop ask before the next iteration (R1, R10)', () => {
    const { run, firstCommands } = startMachine(region('L -> after', { L: loop(x, { perTurn: true }) }), {
      inside: [{ ...frame, count: -1 }],
    });
    expect(firstCommands).toEqual(['run L/1/x']);
    expect(run.complete('L/1/x')).toEqual(['expand L 2']);
    expect(run.expand('L', 0, 2)).toEqual(['run after']);
  });

  it('opens missing branches before the next ones, within the window (R1, R9)', () => {
    const graph = region('P -> after', { P: parallel(x, { count: 6, window: 2 }) });
    const { run, firstCommands } = startMachine(graph, {
      inside: [{ iteration: 1, node: 0, count: 6, next: 5, missing: [2, 4] }],
    });
    expect(firstCommands).toEqual(['run P/1/x', 'run P/2/x']);
    expect(run.complete('P/1/x')).toEqual(['run P/4/x']);
    expect(run.complete('P/2/x')).toEqual(['run P/5/x']);
    expect(run.complete('P/4/x')).toEqual([]);
    expect(run.complete('P/5/x')).toEqual(['run after']);
    expect(run.transitions).toEqual(['closed P 5', 'exited P 6']);
  });

  it('opens missing branches when all later ones have run (R1, R9)', () => {
    const graph = region('P -> after', { P: parallel(x, { count: 3 }) });
    const { run, firstCommands } = startMachine(graph, {
      inside: [{ iteration: 0, node: 0, count: 3, next: 3, missing: [1] }],
    });
    expect(firstCommands).toEqual(['run P/0/x', 'run P/1/x']);
    expect(run.complete('P/0/x')).toEqual([]);
    expect(run.complete('P/1/x')).toEqual(['run after']);
  });

  it('begins in the innermost frame of nested containers (R1)', () => {
    const inner = region('P -> y', { P: parallel(x, { count: 3 }) });
    const { run, firstCommands } = startMachine(region('L -> after', { L: loop(inner, { count: 2 }) }), {
      inside: [
        { iteration: 0, node: 0, count: 2, next: 1 },
        { iteration: 2, node: 0, count: 3, next: 3 },
      ],
    });
    expect(firstCommands).toEqual(['run L/0/P/2/x']);
    expect(run.complete('L/0/P/2/x')).toEqual(['run L/0/y']);
    expect(run.complete('L/0/y')).toEqual(['run L/1/P/0/x', 'run L/1/P/1/x', 'run L/1/P/2/x']);
  });
});

describe('a parallel', () => {
  it('opens all branches at the same time without a limit (R9)', () => {
    expect(startMachine(region({ P: parallel(x, { count: 3 }) })).firstCommands).toEqual([
      'run P/0/x',
      'run P/1/x',
      'run P/2/x',
    ]);
  });

  it('opens the next branch as soon as one closes (R9)', () => {
    const { run, firstCommands } = startMachine(
      region('P -> a', { P: parallel(x, { count: 4, window: 2 }) }),
    );
    expect(firstCommands).toEqual(['run P/0/x', 'run P/1/x']);
    expect(run.complete('P/1/x')).toEqual(['run P/2/x']);
    expect(run.complete('P/2/x')).toEqual(['run P/3/x']);
    expect(run.complete('P/3/x')).toEqual([]);
    expect(run.complete('P/0/x')).toEqual(['run a']);
    expect(run.transitions).toEqual(['closed P 0', 'exited P 4']);
  });

  it('refills its window after a failure that it collects (R9)', () => {
    const { run } = startMachine(
      region('P -> a', { P: parallel(x, { count: 3, window: 1, collectErrors: true }) }),
    );
    expect(run.fail('P/0/x')).toEqual(['run P/1/x']);
    expect(run.transitions).toEqual(['failed P/0/x', 'closed P 0 after P/0/x', 'opened P 1']);
    expect(run.complete('P/1/x')).toEqual(['run P/2/x']);
    expect(run.fail('P/2/x')).toEqual(['run a']);
  });
});

describe('iterations and branches', () => {
  it('with a known count need no command (R10)', () => {
    const { run, firstCommands } = startMachine(region('L -> a', { L: loop(x, { count: 1 }) }));
    expect(firstCommands).toEqual(['run L/0/x']);
    expect(run.transitions).toEqual(['entered L', 'opened L 0']);
  });

  it.each([loop, parallel])('with an unknown count are requested once (R10)', (createContainer) => {
    const { run, firstCommands } = startMachine(region('C -> a', { C: createContainer(x, { window: 1 }) }));
    expect(firstCommands).toEqual(['expand C 0']);
    expect(run.expand('C', 2)).toEqual(['run C/0/x']);
    expect(run.complete('C/0/x')).toEqual(['run C/1/x']);
    expect(run.complete('C/1/x')).toEqual(['run a']);
  });

  it('with a count of 0 end the container immediately (R10)', () => {
    expect(startMachine(region('L -> a', { L: loop(x, { count: 0 }) })).firstCommands).toEqual(['run a']);
    const { run } = startMachine(region('P -> a', { P: parallel(x) }));
    expect(run.expand('P', 0)).toEqual(['run a']);
    expect(run.transitions).toEqual(['exited P 0']);
  });

  it('of a while loop are requested one by one (R10)', () => {
    const { run, firstCommands } = startMachine(region('W -> a', { W: loop(x, { perTurn: true }) }));
    expect(firstCommands).toEqual(['expand W 0']);
    expect(run.expand('W', 1)).toEqual(['run W/0/x']);
    expect(run.complete('W/0/x')).toEqual(['expand W 1']);
    expect(run.expand('W', 0, 1)).toEqual(['run a']);
    expect(run.transitions).toEqual(['exited W 1']);
  });

  it('of a doWhile loop begin without a request (R10)', () => {
    const { run, firstCommands } = startMachine(
      region('W -> a', { W: loop(x, { perTurn: true, firstFree: true }) }),
    );
    expect(firstCommands).toEqual(['run W/0/x']);
    expect(run.complete('W/0/x')).toEqual(['expand W 1']);
    expect(run.expand('W', 0, 1)).toEqual(['run a']);
  });
});

describe('a limit', () => {
  it('fails the container before the first iteration if the count exceeds it (R11)', () => {
    const { run } = startMachine(region('L -> a', { L: loop(x, { limit: 3 }) }));
    expect(run.expand('L', 4)).toEqual(['end failed block L']);
    expect(run.transitions).toEqual(['failed L limit 3']);
  });

  it('allows a count equal to it (R11)', () => {
    const { run } = startMachine(region({ L: loop(x, { limit: 3 }) }));
    expect(run.expand('L', 3)).toEqual(['run L/0/x']);
  });

  it('fails a while loop that asks for one more iteration (R11)', () => {
    const { run } = startMachine(region('W:error -> h', { W: loop(x, { perTurn: true, limit: 1 }) }));
    run.expand('W', 1);
    expect(run.complete('W/0/x')).toEqual(['expand W 1']);
    expect(run.expand('W', 1, 1)).toEqual(['run h']);
    expect(run.transitions).toEqual(['failed W handled limit 1']);
  });

  it('does not truncate: the same event starts no further work (R11)', () => {
    const { run } = startMachine(region('s -> L, b', { L: loop(x, { count: 2, limit: 1 }) }));
    expect(run.complete('s')).toEqual(['end failed block L']);
  });
});

describe('a container', () => {
  it('takes the port `source` when it completes (R12)', () => {
    const { run } = startMachine(region('L -> a', 'L:error -> h', { L: loop(x, { count: 1 }) }));
    expect(run.complete('L/0/x')).toEqual(['run a']);
  });

  it('takes the port `error` when a node inside failed (R12)', () => {
    const { run } = startMachine(region('L -> a', 'L:error -> h', { L: loop(x, { count: 3 }) }));
    expect(run.fail('L/0/x')).toEqual(['run h']);
    expect(run.transitions).toEqual(['failed L/0/x', 'failed L handled because of L/0/x']);
  });

  it('takes the port `error` if its iterations cannot be determined (R12)', () => {
    const { run } = startMachine(region('L -> a', 'L:error -> h', { L: loop(x) }));
    expect(run.fail('L', { attempt: 0, iteration: 0 })).toEqual(['run h']);
    expect(run.transitions).toEqual(['failed L handled']);
  });
});
