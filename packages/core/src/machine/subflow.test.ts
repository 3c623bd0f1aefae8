import { describe, expect, it } from 'vitest';
import { loop, parallel, region } from '../../../../test/support/graph.ts';
import { startMachine } from '../../../../test/support/run-machine.ts';

// The R numbers in titles are the rules of docs/semantics.md.

const x = region('x');

describe('a frame', () => {
  it('R7 closes when every node in it is settled, by any outcome', () => {
    const body = region('if:yes -> a -> b', 'if:no -> c');
    const { run } = startMachine(region({ L: loop(body, { count: 2 }) }));
    expect(run.complete('L/0/if', 'no')).toEqual(['run L/0/c']);
    expect(run.complete('L/0/c')).toEqual(['run L/1/if']);
    expect(run.notices).toEqual(['closed L 0', 'opened L 1']);
  });

  it('R7 with a dead end ends only its own iteration', () => {
    const { run } = startMachine(region('L -> after', { L: loop(region('if:yes -> a'), { count: 2 }) }));
    expect(run.complete('L/0/if', 'none')).toEqual(['run L/1/if']);
    expect(run.complete('L/1/if', 'none')).toEqual(['run after']);
  });

  it('R7 resets its joins: each iteration takes its own path', () => {
    const body = region('if:yes -> a -> j', 'if:no -> b -> j');
    const { run } = startMachine(region({ L: loop(body, { count: 2 }) }));
    expect(run.complete('L/0/if', 'yes')).toEqual(['run L/0/a']);
    expect(run.complete('L/0/a')).toEqual(['run L/0/j']);
    expect(run.complete('L/0/j')).toEqual(['run L/1/if']);
    expect(run.complete('L/1/if', 'no')).toEqual(['run L/1/b']);
    expect(run.complete('L/1/b')).toEqual(['run L/1/j']);
  });

  it('R7 without nodes closes immediately', () => {
    expect(startMachine(region('L -> a', { L: loop(region(), { count: 3 }) })).first).toEqual(['run a']);
  });
});

describe('a loop', () => {
  it('R8 runs its iterations one after another', () => {
    const { run, first } = startMachine(region('L -> a', { L: loop(x, { count: 2 }) }));
    expect(first).toEqual(['run L/0/x']);
    expect(run.complete('L/0/x')).toEqual(['run L/1/x']);
    expect(run.complete('L/1/x')).toEqual(['run a']);
    expect(run.notices).toEqual(['closed L 1', 'exited L 2']);
  });

  it('R8 is awaited by the container around it, like a block', () => {
    const inner = region('L -> y', { L: loop(x, { count: 2 }) });
    const { run } = startMachine(region({ P: parallel(inner, { count: 1 }) }));
    run.complete('P/0/L/0/x');
    expect(run.complete('P/0/L/1/x')).toEqual(['run P/0/y']);
    expect(run.complete('P/0/y')).toEqual(['end completed']);
  });
});

describe('a start inside containers', () => {
  const frame = { iteration: 1, node: 0, count: 3, next: 2 };

  it('R1, R8 continues a loop from one block of one iteration, and runs the later iterations', () => {
    const body = region('a -> b -> d', 'a -> c -> d');
    const graph = region('L -> after', { L: loop(body, { count: 3 }) });
    const { run, first } = startMachine(graph, { inside: [{ ...frame, node: 1 }] });
    expect(first).toEqual(['run L/1/b']);
    expect(run.notices).toEqual(['entered L', 'opened L 1']);
    expect(run.pending()).toEqual(['run L/1/b']);
    expect(run.complete('L/1/b')).toEqual(['run L/1/d']);
    expect(run.complete('L/1/d')).toEqual(['run L/2/a']);
  });

  it('R1, R10 lets a while loop ask before the next iteration', () => {
    const { run, first } = startMachine(region('L -> after', { L: loop(x, { perTurn: true }) }), {
      inside: [{ ...frame, count: -1 }],
    });
    expect(first).toEqual(['run L/1/x']);
    expect(run.complete('L/1/x')).toEqual(['expand L 2']);
    expect(run.expand('L', 0, 2)).toEqual(['run after']);
  });

  it('R1, R9 opens missing branches before the next ones, within the window', () => {
    const graph = region('P -> after', { P: parallel(x, { count: 6, window: 2 }) });
    const { run, first } = startMachine(graph, {
      inside: [{ iteration: 1, node: 0, count: 6, next: 5, missing: [2, 4] }],
    });
    expect(first).toEqual(['run P/1/x', 'run P/2/x']);
    expect(run.complete('P/1/x')).toEqual(['run P/4/x']);
    expect(run.complete('P/2/x')).toEqual(['run P/5/x']);
    expect(run.complete('P/4/x')).toEqual([]);
    expect(run.complete('P/5/x')).toEqual(['run after']);
    expect(run.notices).toEqual(['closed P 5', 'exited P 6']);
  });

  it('R1, R9 opens missing branches when all later ones have run', () => {
    const graph = region('P -> after', { P: parallel(x, { count: 3 }) });
    const { run, first } = startMachine(graph, {
      inside: [{ iteration: 0, node: 0, count: 3, next: 3, missing: [1] }],
    });
    expect(first).toEqual(['run P/0/x', 'run P/1/x']);
    expect(run.complete('P/0/x')).toEqual([]);
    expect(run.complete('P/1/x')).toEqual(['run after']);
  });

  it('R1 begins in the innermost frame of nested containers', () => {
    const inner = region('P -> y', { P: parallel(x, { count: 3 }) });
    const { run, first } = startMachine(region('L -> after', { L: loop(inner, { count: 2 }) }), {
      inside: [
        { iteration: 0, node: 0, count: 2, next: 1 },
        { iteration: 2, node: 0, count: 3, next: 3 },
      ],
    });
    expect(first).toEqual(['run L/0/P/2/x']);
    expect(run.complete('L/0/P/2/x')).toEqual(['run L/0/y']);
    expect(run.complete('L/0/y')).toEqual(['run L/1/P/0/x', 'run L/1/P/1/x', 'run L/1/P/2/x']);
  });
});

describe('a parallel', () => {
  it('R9 opens all branches at the same time without a limit', () => {
    expect(startMachine(region({ P: parallel(x, { count: 3 }) })).first).toEqual([
      'run P/0/x',
      'run P/1/x',
      'run P/2/x',
    ]);
  });

  it('R9 opens the next branch as soon as one closes', () => {
    const { run, first } = startMachine(region('P -> a', { P: parallel(x, { count: 4, window: 2 }) }));
    expect(first).toEqual(['run P/0/x', 'run P/1/x']);
    expect(run.complete('P/1/x')).toEqual(['run P/2/x']);
    expect(run.complete('P/2/x')).toEqual(['run P/3/x']);
    expect(run.complete('P/3/x')).toEqual([]);
    expect(run.complete('P/0/x')).toEqual(['run a']);
    expect(run.notices).toEqual(['closed P 0', 'exited P 4']);
  });

  it('R9 refills its window after a failure that it collects', () => {
    const { run } = startMachine(
      region('P -> a', { P: parallel(x, { count: 3, window: 1, collectErrors: true }) }),
    );
    expect(run.fail('P/0/x')).toEqual(['run P/1/x']);
    expect(run.notices).toEqual(['failed P/0/x', 'closed P 0 after P/0/x', 'opened P 1']);
    expect(run.complete('P/1/x')).toEqual(['run P/2/x']);
    expect(run.fail('P/2/x')).toEqual(['run a']);
  });
});

describe('iterations and branches', () => {
  it('R10 with a known count need no command', () => {
    const { run, first } = startMachine(region('L -> a', { L: loop(x, { count: 1 }) }));
    expect(first).toEqual(['run L/0/x']);
    expect(run.notices).toEqual(['entered L', 'opened L 0']);
  });

  it.each([loop, parallel])('R10 with an unknown count are requested once', (container) => {
    const { run, first } = startMachine(region('C -> a', { C: container(x, { window: 1 }) }));
    expect(first).toEqual(['expand C 0']);
    expect(run.expand('C', 2)).toEqual(['run C/0/x']);
    expect(run.complete('C/0/x')).toEqual(['run C/1/x']);
    expect(run.complete('C/1/x')).toEqual(['run a']);
  });

  it('R10 with a count of 0 leave the container immediately', () => {
    expect(startMachine(region('L -> a', { L: loop(x, { count: 0 }) })).first).toEqual(['run a']);
    const { run } = startMachine(region('P -> a', { P: parallel(x) }));
    expect(run.expand('P', 0)).toEqual(['run a']);
    expect(run.notices).toEqual(['exited P 0']);
  });

  it('R10 of a while loop are requested one by one', () => {
    const { run, first } = startMachine(region('W -> a', { W: loop(x, { perTurn: true }) }));
    expect(first).toEqual(['expand W 0']);
    expect(run.expand('W', 1)).toEqual(['run W/0/x']);
    expect(run.complete('W/0/x')).toEqual(['expand W 1']);
    expect(run.expand('W', 0, 1)).toEqual(['run a']);
    expect(run.notices).toEqual(['exited W 1']);
  });

  it('R10 of a doWhile loop begin without a request', () => {
    const { run, first } = startMachine(region('W -> a', { W: loop(x, { perTurn: true, firstFree: true }) }));
    expect(first).toEqual(['run W/0/x']);
    expect(run.complete('W/0/x')).toEqual(['expand W 1']);
    expect(run.expand('W', 0, 1)).toEqual(['run a']);
  });
});

describe('a limit', () => {
  it('R11 fails the container before the first iteration if the count exceeds it', () => {
    const { run } = startMachine(region('L -> a', { L: loop(x, { limit: 3 }) }));
    expect(run.expand('L', 4)).toEqual(['end failed block L']);
    expect(run.notices).toEqual(['failed L limit 3']);
  });

  it('R11 allows a count equal to it', () => {
    const { run } = startMachine(region({ L: loop(x, { limit: 3 }) }));
    expect(run.expand('L', 3)).toEqual(['run L/0/x']);
  });

  it('R11 fails a while loop that asks for one more iteration', () => {
    const { run } = startMachine(region('W:error -> h', { W: loop(x, { perTurn: true, limit: 1 }) }));
    run.expand('W', 1);
    expect(run.complete('W/0/x')).toEqual(['expand W 1']);
    expect(run.expand('W', 1, 1)).toEqual(['run h']);
    expect(run.notices).toEqual(['failed W handled limit 1']);
  });

  it('R11 does not truncate: the same event starts no further work', () => {
    const { run } = startMachine(region('s -> L, b', { L: loop(x, { count: 2, limit: 1 }) }));
    expect(run.complete('s')).toEqual(['end failed block L']);
  });
});

describe('a container', () => {
  it('R12 leaves by `source` when it completes', () => {
    const { run } = startMachine(region('L -> a', 'L:error -> h', { L: loop(x, { count: 1 }) }));
    expect(run.complete('L/0/x')).toEqual(['run a']);
  });

  it('R12 leaves by `error` when a node inside failed', () => {
    const { run } = startMachine(region('L -> a', 'L:error -> h', { L: loop(x, { count: 3 }) }));
    expect(run.fail('L/0/x')).toEqual(['run h']);
    expect(run.notices).toEqual(['failed L/0/x', 'failed L handled because of L/0/x']);
  });

  it('R12 leaves by `error` if its iterations cannot be determined', () => {
    const { run } = startMachine(region('L -> a', 'L:error -> h', { L: loop(x) }));
    expect(run.fail('L', { attempt: 0, iteration: 0 })).toEqual(['run h']);
    expect(run.notices).toEqual(['failed L handled']);
  });
});
