import { describe, expect, it } from 'vitest';
import { region } from '../../../../test/support/graph.ts';
import { startMachine } from '../../../../test/support/run-machine.ts';

// The R numbers in titles are the rules of docs/semantics.md.

describe('the deadline', () => {
  it('ends the run, even if work is open (R26)', () => {
    const { run, firstCommands } = startMachine(region('s -> a, p'), { timeoutMs: 500 });
    expect(firstCommands).toEqual(['timer deadline 1500', 'run s']);
    run.complete('s');
    run.pause('p');
    run.nowMs = 1500;
    expect(run.fire('', 'deadline')).toEqual(['abort a deadline', 'abort p deadline', 'end failed deadline']);
    expect(run.state).toMatchObject({ busy: 0, humans: 0, timers: 0 });
  });

  it('is ignored before its time (R26)', () => {
    const { run } = startMachine(region('a'), { timeoutMs: 500 });
    run.nowMs = 1499;
    expect(run.fire('', 'deadline')).toEqual([]);
    expect(run.changed).toBe(false);
  });

  it('includes the time during which the run waits for a person (R26)', () => {
    const { run } = startMachine(region('p'), { timeoutMs: 500 });
    expect(run.pause('p')).toEqual(['open p']);
    run.nowMs = 1500;
    expect(run.fire('', 'deadline')).toEqual(['abort p deadline', 'end failed deadline']);
  });

  it('with `activeOnly` is stopped while only a person can continue the run (R26)', () => {
    const { run } = startMachine(region('p -> a'), { timeoutMs: 500, activeOnly: true });
    run.nowMs = 1100;
    run.pause('p');
    expect(run.pendingCommands()).toEqual(['open p']);
    run.nowMs = 9000;
    expect(run.fire('', 'deadline')).toEqual([]);
    expect(run.resume('p')).toEqual(['run a', 'timer deadline 9400']);
    run.nowMs = 9399;
    expect(run.fire('', 'deadline')).toEqual([]);
    run.nowMs = 9400;
    expect(run.fire('', 'deadline')).toEqual(['abort a deadline', 'end failed deadline']);
  });

  it('with `activeOnly` is not stopped while a timer can continue the run (R26)', () => {
    const { run } = startMachine(region('s -> p, w'), { timeoutMs: 500, activeOnly: true });
    run.complete('s');
    run.pause('p');
    run.wait('w', 2000);
    expect(run.state.deadline).toEqual({ dueMs: 1500, activeOnly: true });
    run.nowMs = 1200;
    run.fire('w', 'wait');
    expect(run.state.deadline).toEqual({ leftMs: 300, activeOnly: true });
  });

  it('only ends the grace period of a run that has failed (R26)', () => {
    const { run } = startMachine(region('s -> a, b'), { timeoutMs: 20 });
    run.complete('s');
    run.fail('a');
    run.nowMs = 1020;
    expect(run.fire('', 'deadline')).toEqual(['abort b deadline', 'end failed block a']);
  });

  it('only ends the grace period of a run that has a response (R26)', () => {
    const { run } = startMachine(region('s -> r, b', { r: { answers: true } }), { timeoutMs: 20 });
    run.complete('s');
    run.complete('r');
    run.nowMs = 1020;
    expect(run.fire('', 'deadline')).toEqual(['abort b deadline', 'end completed r']);
  });

  it('is removed when the run ends (R26)', () => {
    const { run } = startMachine(region('p'), { timeoutMs: 500, activeOnly: true });
    run.pause('p');
    expect(run.cancel()).toEqual(['abort p cancelled', 'end cancelled']);
    expect(run.state.deadline).toBeUndefined();
  });
});
