import { describe, expect, it } from 'vitest';
import { loop, region } from '../../../../test/support/graph.ts';
import { startMachine } from '../../../../test/support/run-machine.ts';
import { advance, initialState, step } from './step.ts';

// The R numbers in titles are the rules of docs/semantics.md.

describe('a run', () => {
  it('starts at one block (R1)', () => {
    expect(startMachine(region('a -> c', 'b -> c'), { start: 'b' }).firstCommands).toEqual(['run b']);
  });

  it('does not wait for nodes that its start does not reach (R1)', () => {
    const { run } = startMachine(region('a -> c', 'b -> c -> d', 'other'), { start: 'b' });
    expect(run.complete('b')).toEqual(['run c']);
    expect(run.complete('c')).toEqual(['run d']);
    expect(run.complete('d')).toEqual(['end completed']);
  });

  it('can start at an inner block, a join or a container (R1)', () => {
    const graph = region('a -> b -> j', 'a -> j -> L -> d', { L: loop(region('x'), { count: 1 }) });
    expect(startMachine(graph, { start: 'j' }).firstCommands).toEqual(['run j']);
    const { run, firstCommands } = startMachine(graph, { start: 'L' });
    expect(firstCommands).toEqual(['run L/0/x']);
    expect(run.complete('L/0/x')).toEqual(['run d']);
  });

  it('does not start at an unknown block (R1)', () => {
    expect(
      advance(region('a'), initialState(), { type: 'started', atMs: 0, start: 9, graceMs: 0 }).changed,
    ).toBe(false);
  });

  it('starts once (R30)', () => {
    const { run } = startMachine(region('a'));
    expect(run.feed({ type: 'started', atMs: 1, start: 0, graceMs: 0 })).toEqual([]);
    expect(run.changed).toBe(false);
  });
});

describe('a cancellation', () => {
  it('aborts all open work and ends the run (R29)', () => {
    const { run } = startMachine(region('s -> a, b'));
    run.complete('s');
    run.pause('b');
    expect(run.cancel()).toEqual(['abort a cancelled', 'abort b cancelled', 'end cancelled']);
    expect(run.state).toMatchObject({
      phase: 'ended',
      end: { status: 'cancelled' },
      busy: 0,
      humans: 0,
      timers: 0,
    });
  });

  it('overrides a failure in its grace period (R29)', () => {
    const { run } = startMachine(region('s -> a, b'));
    run.complete('s');
    run.fail('a');
    expect(run.cancel()).toEqual(['abort b cancelled', 'end cancelled']);
  });

  it('before the start also ends the run, which then never starts (R29)', () => {
    const state = initialState();
    expect(advance(region('a'), state, { type: 'cancelled', atMs: 0 }).commands).toEqual([
      { type: 'end', status: 'cancelled' },
    ]);
    expect(advance(region('a'), state, { type: 'started', atMs: 0, start: 0, graceMs: 0 }).changed).toBe(
      false,
    );
  });

  it('applies once: an ended run never changes (R29)', () => {
    const { run } = startMachine(region('a'));
    run.complete('a');
    expect(run.cancel()).toEqual([]);
    expect(run.changed).toBe(false);
  });
});

describe('a late or duplicate event', () => {
  const graph = region('s -> L, p, t', {
    L: loop(region('x'), {}),
    t: { timeoutMs: 9, retry: { maxTries: 3, waitMs: 5, backoff: 1, maxWaitMs: 5, jitter: 0 } },
  });

  it.each([
    ['a second end of a block', { type: 'completed', at: [0], atMs: 0, attempt: 1 }],
    ['the end of a block that has not started', { type: 'completed', at: [9], atMs: 0, attempt: 1 }],
    ['the end of another attempt', { type: 'completed', at: [3], atMs: 0, attempt: 2 }],
    ['a failure of another attempt', { type: 'failed', at: [3], atMs: 0, attempt: 2, retryable: true }],
    ['the timeout of another attempt', { type: 'fired', at: [3], atMs: 0, timer: 'timeout', attempt: 2 }],
    ['a timeout of a block without one', { type: 'fired', at: [2], atMs: 0, timer: 'timeout', attempt: 1 }],
    ['a retry of a running attempt', { type: 'fired', at: [3], atMs: 0, timer: 'retry', attempt: 1 }],
    ['a resume of a block that is not paused', { type: 'resumed', at: [2], atMs: 0 }],
    ['a wait timer of a block that does not wait', { type: 'fired', at: [2], atMs: 0, timer: 'wait' }],
    [
      'iterations of a block that is not a container',
      { type: 'expanded', at: [2], atMs: 0, iteration: 0, count: 1 },
    ],
    ['an end of a container', { type: 'completed', at: [1], atMs: 0, attempt: 1 }],
    ['iterations that were not requested', { type: 'expanded', at: [1], atMs: 0, iteration: 1, count: 1 }],
    [
      'a failed expansion of another iteration',
      { type: 'failed', at: [1], atMs: 0, attempt: 0, iteration: 1, retryable: true },
    ],
    ['an event in a closed frame', { type: 'completed', at: [1, 0, 0], atMs: 0, attempt: 1 }],
    ['an event inside a block', { type: 'completed', at: [2, 0, 0], atMs: 0, attempt: 1 }],
    ['an event about a frame', { type: 'completed', at: [1, 0], atMs: 0, attempt: 1 }],
    ['an event about the run', { type: 'completed', at: [], atMs: 0, attempt: 1 }],
    ['a grace timer without a drain', { type: 'fired', at: [], atMs: 0, timer: 'grace' }],
    ['a grace timer of a container without a drain', { type: 'fired', at: [1], atMs: 0, timer: 'grace' }],
    ['a grace timer of a closed branch', { type: 'fired', at: [1, 0], atMs: 0, timer: 'grace' }],
    ['a deadline of a run without one', { type: 'fired', at: [], atMs: 0, timer: 'deadline' }],
    ['a `blocked` event of a block that is not a child', { type: 'blocked', at: [2], atMs: 0, on: 'human' }],
  ] as const)('changes nothing: %s (R30)', (_, event) => {
    const { run } = startMachine(graph);
    run.complete('s');
    const stateBefore = structuredClone(run.state);
    expect(run.feed(event)).toEqual([]);
    expect(run.changed).toBe(false);
    expect(run.state).toEqual(stateBefore);
  });

  it('changes nothing: a timer of an attempt that has ended (R30)', () => {
    const { run } = startMachine(graph);
    run.complete('s');
    run.fail('t');
    expect(run.fire('t', 'timeout', 1)).toEqual([]);
    expect(run.fire('t', 'retry', 3)).toEqual([]);
    expect(run.fire('t', 'retry', 2)).toEqual(['run t #2', 'timer t timeout 1009']);
  });
});

describe('step', () => {
  it('does not change its argument, and returns it if nothing changed (R30)', () => {
    const graph = region('a -> b');
    const stateBefore = initialState();
    const [nextState] = step(graph, stateBefore, { type: 'started', atMs: 0, start: 0, graceMs: 0 });
    expect(stateBefore).toEqual(initialState());
    expect(nextState.busy).toBe(1);
    expect(step(graph, nextState, { type: 'completed', at: [1], atMs: 0, attempt: 1 })[0]).toBe(nextState);
  });
});
