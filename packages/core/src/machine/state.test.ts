import { describe, expect, it } from 'vitest';
import { region } from '../../../../test/support/graph.ts';
import { startMachine } from '../../../../test/support/run-machine.ts';
import { idleState } from './state.ts';

// The R numbers in titles are the rules of docs/semantics.md.

const graph = region('s -> p, w, b');

describe('a run', () => {
  it('is running while any block runs (R25)', () => {
    const { run } = startMachine(graph);
    run.complete('s');
    run.pause('p');
    run.wait('w');
    expect(idleState(run.state)).toBe('running');
  });

  it('waits for a person if a person is needed and nothing runs (R25)', () => {
    const { run } = startMachine(graph);
    run.complete('s');
    run.pause('p');
    run.wait('w');
    run.complete('b');
    expect(idleState(run.state)).toBe('human');
    run.resume('p');
    expect(idleState(run.state)).toBe('time');
    run.fire('w', 'wait');
    expect(idleState(run.state)).toBe('ended');
  });

  it('is running while a retry is pending, even if a person is needed (R25)', () => {
    const retry = { maxTries: 2, waitMs: 5, backoff: 1, maxWaitMs: 5, jitter: 0 };
    const { run } = startMachine(region('s -> a, p', { a: { retry } }));
    run.complete('s');
    run.pause('p');
    run.fail('a');
    expect(idleState(run.state)).toBe('running');
    run.fire('a', 'retry', 2);
    run.complete('a', undefined, 2);
    expect(idleState(run.state)).toBe('human');
  });
});
