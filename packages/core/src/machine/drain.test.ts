import { describe, expect, it } from 'vitest';
import { loop, parallel, region } from '../../../../test/support/graph.ts';
import { startMachine } from '../../../../test/support/run-machine.ts';

// The R numbers in titles are the rules of docs/semantics.md.

const retry = { maxTries: 3, waitMs: 5, backoff: 1, maxWaitMs: 5, jitter: 0 };

/** A loop that fails as soon as it starts. */
const failingLoop = { L: loop(region('x'), { count: 2, limit: 1 }) };

describe('a drain', () => {
  // Without a drain, E would start another iteration after its empty one, and L would fail at its limit.
  const body = region('s -> E, L, b', {
    E: loop(region(), { perTurn: true, firstFree: true }),
    L: loop(region('x'), { count: 2, limit: 1 }),
  });
  const graph = region('s -> f, run, wait, pause, child, pending, L', 'run -> next', {
    child: { class: 'child' },
    pending: { retry },
    L: loop(region('x')),
  });

  it('starts nothing new, stops waits immediately and lets running work finish (R17)', () => {
    const { run } = startMachine(graph);
    run.complete('s');
    run.wait('wait');
    run.pause('pause');
    run.fail('pending');
    expect(run.fail('f')).toEqual([
      'abort child failed',
      'abort pause failed',
      'abort pending failed',
      'abort wait failed',
      'timer grace 1050',
    ]);
    expect(run.complete('run')).toEqual([]);
    expect(run.expand('L', 5)).toEqual(['end failed block f']);
  });

  it('counts a block that pauses, fails or times out as done (R17)', () => {
    const otherGraph = region('s -> f, a, b, c', { a: { timeoutMs: 5, retry }, b: { retry } });
    const { run } = startMachine(otherGraph);
    run.complete('s');
    run.fail('f');
    expect(run.fire('a', 'timeout', 1)).toEqual(['abort a timeout']);
    expect(run.transitions).toEqual(['failed a timed out']);
    expect(run.fail('b')).toEqual([]);
    expect(run.transitions).toEqual(['failed b']);
    expect(run.pause('c')).toEqual(['end failed block f']);
  });

  it('aborts an attempt that ends in a pause and would then continue, instead of opening the pause (R46)', () => {
    const { run } = startMachine(region('s -> f, c'));
    run.complete('s');
    run.fail('f');
    expect(run.pauseToContinue('c')).toEqual(['abort c failed', 'end failed block f']);
  });

  it('counts the end of a running attempt once, and ignores other attempts (R17)', () => {
    const { run } = startMachine(region('s -> f, a, b'));
    run.complete('s');
    run.fail('f');
    expect(run.complete('a', undefined, 2)).toEqual([]);
    expect(run.changed).toBe(false);
    run.complete('a');
    expect(run.changed).toBe(true);
    run.complete('a');
    expect(run.changed).toBe(false);
    expect(run.state.busy).toBe(1);
  });

  it('of a container ends only when the work in it is done (R17)', () => {
    const inner = region({ P: parallel(region('x -> y'), { count: 2 }) });
    const { run } = startMachine(region('O:error -> h', { O: loop(inner, { count: 2 }) }));
    expect(run.fail('O/0/P/0/x')).toEqual(['timer O grace 1050']);
    expect(run.complete('O/0/P/1/x')).toEqual(['run h']);
    expect(run.transitions).toEqual(['failed O handled because of O/0/P/0/x']);
  });

  it('of a branch ends only when the work in it is done, and that work starts no further blocks (R17)', () => {
    const branch = region('x', 'y -> z', 'y:error -> h');
    const { run } = startMachine(
      region('P -> a', { P: parallel(branch, { count: 1, collectErrors: true }) }),
    );
    expect(run.fail('P/0/x')).toEqual(['timer P/0 grace 1050']);
    expect(run.complete('P/0/y')).toEqual(['run a']);
    expect(run.transitions).toEqual(['closed P 0 after P/0/x', 'exited P 1']);
  });

  it('does not affect blocks outside its scope (R17)', () => {
    const { run } = startMachine(
      region('s -> P, b', 'b -> c', 'P:error -> h', { P: parallel(region('x'), { count: 2 }) }),
    );
    run.complete('s');
    run.fail('P/0/x');
    expect(run.complete('b')).toEqual(['run c']);
    expect(run.complete('P/1/x')).toEqual(['run h']);
  });

  it.each([
    ['a container', { O: loop(body, { count: 1 }) }, ['run h']],
    ['a branch', { O: parallel(body, { count: 1, collectErrors: true }) }, ['run z']],
  ] as const)(
    'starts no further blocks for the event that began it, in %s (R17)',
    (_, nodes, nextCommands) => {
      const { run } = startMachine(region('O -> z', 'O:error -> h', nodes));
      expect(run.complete('O/0/s')).toEqual(nextCommands);
    },
  );

  it('starts no further blocks for the event that began it, and no iterations of open loops (R17)', () => {
    const { run } = startMachine(body);
    expect(run.complete('s')).toEqual(['end failed block L']);
  });

  it('is aborted at the end of its grace period (R18)', () => {
    const { run } = startMachine(region('s -> f, a, L', { L: loop(region('x')) }));
    run.complete('s');
    run.fail('f');
    expect(run.fire('', 'grace')).toEqual(['abort L failed', 'abort a failed', 'end failed block f']);
  });

  it('is aborted immediately without a grace period (R18)', () => {
    const { run } = startMachine(region('s -> f, a, L', { L: loop(region('x')) }), { graceMs: 0 });
    run.complete('s');
    expect(run.fail('f')).toEqual(['abort L failed', 'abort a failed', 'end failed block f']);
  });

  it.each([
    ['a container', { O: loop(region('a', 'L', 'z', failingLoop), { count: 1 }) }, ['run h']],
    [
      'a branch',
      { O: parallel(region('a', 'L', 'z', failingLoop), { count: 1, collectErrors: true }) },
      ['run n'],
    ],
  ] as const)(
    'without a grace period starts nothing more for the same event in %s (R18)',
    (_, nodes, nextCommands) => {
      const { firstCommands } = startMachine(region('O -> n', 'O:error -> h', nodes), { graceMs: 0 });
      expect(firstCommands).toEqual(['run O/0/a', 'abort O/0/a failed', ...nextCommands]);
    },
  );

  it('of a container has a grace timer that aborts only this container (R18)', () => {
    const { run } = startMachine(region('P:error -> h', { P: parallel(region('x'), { count: 2 }) }));
    expect(run.fail('P/0/x')).toEqual(['timer P grace 1050']);
    expect(run.fire('P', 'grace')).toEqual(['abort P/1/x failed', 'run h']);
  });

  it('of a branch whose parallel collects errors has a grace timer that aborts only this branch (R18)', () => {
    const body = region('x', 'y');
    const { run } = startMachine(region({ P: parallel(body, { count: 3, window: 2, collectErrors: true }) }));
    expect(run.fail('P/1/x')).toEqual(['timer P/1 grace 1050']);
    expect(run.fire('P/0', 'grace')).toEqual([]);
    expect(run.fire('P/1', 'grace')).toEqual(['abort P/1/y failed', 'run P/2/x', 'run P/2/y']);
    expect(run.complete('P/1/y')).toEqual([]);
    expect(run.changed).toBe(false);
  });
});

describe('an outer drain', () => {
  const branches = parallel(region('x', 'y'), { count: 1, collectErrors: true });

  it('replaces the inner one: its grace period counts, and the inner timer is ignored (R19)', () => {
    const { run } = startMachine(region('s -> P, b, c', { P: branches }));
    run.complete('s');
    expect(run.fail('P/0/x')).toEqual(['timer P/0 grace 1050']);
    run.nowMs = 1020;
    expect(run.fail('b')).toEqual(['timer grace 1070']);
    run.nowMs = 1050;
    expect(run.fire('P/0', 'grace')).toEqual([]);
    expect(run.complete('P/0/y')).toEqual([]);
    expect(run.complete('c')).toEqual(['end failed block b']);
  });

  it('of a container replaces the drain of an inner container (R19)', () => {
    const inner = region('I', 'z', 'I:error -> g', { I: parallel(region('x'), { count: 2 }) });
    const { run } = startMachine(region('O:error -> h', { O: loop(inner, { count: 1 }) }));
    expect(run.fail('O/0/I/0/x')).toEqual(['timer O/0/I grace 1050']);
    expect(run.fail('O/0/z')).toEqual(['timer O grace 1050']);
    expect(run.fire('O/0/I', 'grace')).toEqual([]);
    expect(run.complete('O/0/I/1/x')).toEqual(['run h']);
  });

  it('prevents drains from beginning inside it (R19)', () => {
    const { run } = startMachine(region('s -> P, b', { P: branches }));
    run.complete('s');
    expect(run.fail('b')).toEqual(['timer grace 1050']);
    expect(run.fail('P/0/x')).toEqual([]);
    expect(run.complete('P/0/y')).toEqual(['end failed block b']);
  });
});

describe('the first failure', () => {
  it('determines the error of the run (R20)', () => {
    const { run } = startMachine(region('s -> a, b'));
    run.complete('s');
    run.fail('b');
    expect(run.fail('a')).toEqual(['end failed block b']);
  });

  it('keeps blocks that fail after it from taking their error ports (R20)', () => {
    const { run } = startMachine(region('s -> a, b', 'a:error -> h'));
    run.complete('s');
    run.fail('b');
    expect(run.fail('a')).toEqual(['end failed block b']);
    expect(run.transitions).toEqual(['failed a']);
  });
});
