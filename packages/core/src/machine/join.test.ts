import { describe, expect, it } from 'vitest';
import { loop, parallel, region } from '../../../../test/support/graph.ts';
import { startMachine } from '../../../../test/support/run-machine.ts';

// The R numbers in titles are the rules of docs/semantics.md.

describe('an edge', () => {
  it('is live if its node took its port; nothing runs at the other ports (R2)', () => {
    const { run } = startMachine(region('if:yes -> a', 'if:no -> b'));
    expect(run.complete('if', 'yes')).toEqual(['run a']);
    expect(run.complete('a')).toEqual(['end completed']);
  });

  it('on `source` is live even if its node took another port (R2)', () => {
    const { run } = startMachine(region('if:yes -> a', 'if -> b'));
    expect(run.complete('if', 'yes')).toEqual(['run a', 'run b']);
  });

  it('on `source` is dead if its node failed (R2)', () => {
    const { run } = startMachine(region('a -> b', 'a:error -> c'));
    expect(run.fail('a')).toEqual(['run c']);
  });

  it('on `error` is dead if its node did not fail (R2)', () => {
    const { run } = startMachine(region('a -> b', 'a:error -> c'));
    expect(run.complete('a')).toEqual(['run b']);
  });

  it('is dead if its node took another port: the run ends (R2)', () => {
    const { run } = startMachine(region('if:yes -> a', 'if:no -> b'));
    expect(run.complete('if', 'neither')).toEqual(['end completed']);
  });
});

describe('a join', () => {
  it('waits for all its sources (R3)', () => {
    const { run } = startMachine(region('s -> a, b -> j'));
    run.complete('s');
    expect(run.complete('b')).toEqual([]);
    expect(run.complete('a')).toEqual(['run j']);
  });

  it('runs once if one of its edges is live and the others are dead (R4)', () => {
    const { run } = startMachine(region('if:yes -> a -> j', 'if:no -> b -> c -> j'));
    expect(run.complete('if', 'yes')).toEqual(['run a']);
    expect(run.complete('a')).toEqual(['run j']);
    expect(run.complete('j')).toEqual(['end completed']);
  });

  it.each([
    ['first', ['yes'], ['run a']],
    ['second', ['no'], ['run a']],
    ['neither', ['other'], ['end completed']],
  ])('counts two edges of one source as one: %s port (R4)', (_, [port], commands) => {
    const { run } = startMachine(region('if:yes -> a', 'if:no -> a'));
    expect(run.complete('if', port)).toEqual(commands);
  });

  it('also counts two edges of one source as one in a body (R4)', () => {
    const { run } = startMachine(region({ L: loop(region('if:yes -> a', 'if:no -> a'), { count: 1 }) }));
    expect(run.complete('L/0/if', 'no')).toEqual(['run L/0/a']);
  });

  it.each([
    ['if one fails before the other completes', ['a', 'b'], ['run h']],
    ['if one fails after the other completed', ['b', 'a'], ['run h']],
  ])('that handles the errors of two blocks runs once, %s (R4)', (_, order, lastCommands) => {
    const { run } = startMachine(region('s -> a, b', 'a:error -> h', 'b:error -> h'));
    run.complete('s');
    const commands = order.map((name) => (name === 'a' ? run.fail('a') : run.complete('b')));
    expect(commands).toEqual([[], lastCommands]);
  });

  it('that handles the errors of two blocks is skipped if nothing fails (R4)', () => {
    const { run } = startMachine(region('s -> a, b', 'a:error -> h', 'b:error -> h'));
    run.complete('s');
    run.complete('a');
    expect(run.complete('b')).toEqual(['end completed']);
  });

  it('runs after success and after failure of its source if both ports lead to it (R4)', () => {
    const graph = region('a -> b', 'a:error -> b');
    expect(startMachine(graph).run.complete('a')).toEqual(['run b']);
    expect(startMachine(graph).run.fail('a')).toEqual(['run b']);
  });

  it('is skipped if all its edges are dead, and so are its successors, even containers (R5)', () => {
    const body = region('x');
    const graph = region(
      'if:yes -> a',
      'if:no -> b -> L -> c -> j',
      { L: loop(body), P: parallel(body) },
      'c -> P -> j',
    );
    const { run } = startMachine(graph);
    expect(run.complete('if', 'yes')).toEqual(['run a']);
    expect(run.transitions).toEqual([]);
    expect(run.complete('a')).toEqual(['end completed']);
  });

  it('runs after a long path of skipped blocks (R5)', () => {
    const { run } = startMachine(region('s -> if, w', 'if:no -> b1 -> b2 -> b3 -> j', 'w -> j'));
    run.complete('s');
    run.complete('if', 'yes');
    expect(run.complete('w')).toEqual(['run j']);
  });

  it('is decided by the last edge, even a dead one (R5)', () => {
    const { run } = startMachine(region('s -> if, w', 'if:no -> b1 -> b2 -> b3 -> j', 'w -> j'));
    run.complete('s');
    run.complete('w');
    expect(run.complete('if', 'yes')).toEqual(['run j']);
  });
});

describe('starts', () => {
  it('are in the order of the edges, not of the indexes (R6)', () => {
    const { run } = startMachine(region('s -> c, a, b'));
    expect(run.complete('s')).toEqual(['run c', 'run a', 'run b']);
  });

  it('of a container are in the order of its entries (R6)', () => {
    const { firstCommands } = startMachine(region({ P: parallel(region('z', 'y'), { count: 2 }) }));
    expect(firstCommands).toEqual(['run P/0/z', 'run P/0/y', 'run P/1/z', 'run P/1/y']);
  });

  it('are first come, first served: direct successors before those after an empty container (R6)', () => {
    const { run } = startMachine(region('s -> L, b', 'L -> a', { L: loop(region('x'), { count: 0 }) }));
    expect(run.complete('s')).toEqual(['run b', 'run a']);
  });
});

describe('the output of a Response block', () => {
  it('ends the run before anything after it starts (R27)', () => {
    const { run } = startMachine(region('r -> after', { r: { answers: true } }));
    expect(run.complete('r')).toEqual(['end completed r']);
  });

  it('gives running work a grace period, and aborts waits, pauses and children immediately (R27)', () => {
    const graph = region('s -> r, run, pause, wait, child', {
      r: { answers: true },
      child: { class: 'child' },
    });
    const { run } = startMachine(graph);
    run.complete('s');
    run.pause('pause');
    run.wait('wait');
    expect(run.complete('r')).toEqual([
      'abort child answered',
      'abort pause answered',
      'abort wait answered',
      'timer grace 1050',
    ]);
    expect(run.complete('run')).toEqual(['end completed r']);
  });

  it('is final: a later failure does not fail the run (R27)', () => {
    const { run } = startMachine(region('s -> r, b', { r: { answers: true } }));
    run.complete('s');
    run.complete('r');
    expect(run.fail('b')).toEqual(['end completed r']);
    expect(run.transitions).toEqual(['failed b']);
  });

  it('also works inside nested containers (R27)', () => {
    const inner = region({ P: parallel(region('r', { r: { answers: true } }), { count: 2 }) });
    const { run } = startMachine(region('L -> after', { L: loop(inner, { count: 3 }) }));
    expect(run.complete('L/0/P/1/r')).toEqual(['timer grace 1050']);
    expect(run.complete('L/0/P/0/r')).toEqual(['end completed L/0/P/1/r']);
  });

  it('does not happen if the block took another port (R27)', () => {
    const { run } = startMachine(region('r -> after', 'r:error -> h', { r: { answers: true } }));
    expect(run.fail('r')).toEqual(['run h']);
  });
});

describe('run-until', () => {
  it('starts nothing after its block (R28)', () => {
    const { run } = startMachine(region('a -> b -> c'), { until: 'b' });
    expect(run.complete('a')).toEqual(['run b']);
    expect(run.complete('b')).toEqual(['end completed']);
  });

  it('gives other running blocks a grace period (R28)', () => {
    const { run } = startMachine(region('s -> a -> b', 's -> c -> d'), { until: 'a' });
    run.complete('s');
    expect(run.complete('a')).toEqual(['timer grace 1050']);
    expect(run.complete('c')).toEqual(['end completed']);
  });

  it('runs a container to its exit (R28)', () => {
    const { run } = startMachine(region('L -> b', { L: loop(region('x'), { count: 2 }) }), { until: 'L' });
    expect(run.complete('L/0/x')).toEqual(['run L/1/x']);
    expect(run.complete('L/1/x')).toEqual(['end completed']);
  });

  it('ends even if its block is skipped (R28)', () => {
    const { run } = startMachine(region('if:yes -> c -> d', 'if:no -> b'), { until: 'b' });
    expect(run.complete('if', 'yes')).toEqual(['run c', 'timer grace 1050']);
    expect(run.complete('c')).toEqual(['end completed']);
  });

  it('refers to a top-level block, not to the block with the same index in a body (R28)', () => {
    const { run } = startMachine(region('L -> b', { L: loop(region('x -> y'), { count: 1 }) }), {
      until: 'L',
    });
    expect(run.complete('L/0/x')).toEqual(['run L/0/y']);
  });
});
