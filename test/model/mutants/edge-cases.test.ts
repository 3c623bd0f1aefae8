import { describe, expect, it } from 'vitest';
import { region } from '../../support/graph.ts';
import { startMachine } from '../../support/run-machine.ts';

describe('work in a grace period', () => {
  it('ignores a timeout that the machine has not set (R30)', () => {
    const { run } = startMachine(region('s -> f, a'));
    run.complete('s');
    expect(run.fail('f')).toEqual(['timer grace 1050']);
    expect(run.fire('a', 'timeout', 1)).toEqual([]);
    expect(run.changed).toBe(false);
    expect(run.complete('a')).toEqual(['end failed block f']);
  });

  it('that completes through the port `error` does not count as failed (R20)', () => {
    const { run } = startMachine(region('s -> f, a', 'a:error -> h'));
    run.complete('s');
    run.fail('f');
    expect(run.complete('a', 'error')).toEqual(['end failed block f']);
    expect(run.transitions).toEqual([]);
  });
});

describe('an expand command', () => {
  it('is completed in the grace period only by an event for the command itself (R17)', () => {
    const body = region('x', 'L', { L: { kind: 'loop', subflow: { body: region('y'), limit: 9 } } });
    const { run } = startMachine(
      region({ P: { kind: 'parallel', subflow: { body, count: 1, collectErrors: true, limit: 9 } } }),
    );
    expect(run.fail('P/0/x')).toEqual(['timer P/0 grace 1050']);
    expect(run.expand('P/0/L', 1, 1)).toEqual([]);
    expect(run.complete('P/0/L')).toEqual([]);
    expect(run.changed).toBe(false);
    expect(run.expand('P/0/L', 1)).toEqual(['end completed']);
  });

  it('does not keep the run waiting after it is stopped (R25)', () => {
    const body = region('x', 'L', { L: { kind: 'loop', subflow: { body: region('y'), limit: 9 } } });
    const { run } = startMachine(
      region('P -> a', {
        P: { kind: 'parallel', subflow: { body, count: 1, collectErrors: true, limit: 9 } },
      }),
      { graceMs: 0 },
    );
    expect(run.fail('P/0/x')).toEqual(['abort P/0/L failed', 'run a']);
    expect(run.state.busy).toBe(1);
  });

  it.each([
    ['is no longer pending', { type: 'expanded', at: [0], atMs: 0, iteration: 1, count: 2 }],
    [
      'is no longer pending and has failed',
      { type: 'failed', at: [0], atMs: 0, attempt: 0, retryable: false },
    ],
  ] as const)('that %s ignores the event (R30)', (_, event) => {
    const { run } = startMachine(
      region('P', { P: { kind: 'parallel', subflow: { body: region('x'), limit: 9 } } }),
    );
    expect(run.expand('P', 1)).toEqual(['run P/0/x']);
    expect(run.feed(event)).toEqual([]);
    expect(run.changed).toBe(false);
  });
});

it('a paused block with a Response ends the run when it is resumed (R22)', () => {
  const { run } = startMachine(region('r -> after', { r: { answers: true } }));
  run.pause('r');
  expect(run.resume('r')).toEqual(['end completed r']);
});

it('a deadline that a resume has set does not change later (R26)', () => {
  const { run } = startMachine(region('p -> a -> b'), { timeoutMs: 500, activeOnly: true });
  run.nowMs = 1100;
  run.pause('p');
  run.nowMs = 9000;
  expect(run.resume('p')).toEqual(['run a', 'timer deadline 9400']);
  run.nowMs = 9100;
  expect(run.complete('a')).toEqual(['run b']);
  expect(run.pendingCommands()).toEqual(['run b', 'timer deadline 9400']);
});

it('a `blocked` event of a child run changes the state (R24)', () => {
  const { run } = startMachine(region('c', { c: { class: 'child' } }));
  run.block('c', 'human');
  expect(run.changed).toBe(true);
});

it('the state of a drained run is cleared at its end (R29)', () => {
  const { run } = startMachine(region('s -> a, b'), { timeoutMs: 500 });
  run.complete('s');
  run.fail('a');
  run.complete('b');
  const { phase, end, frame, busy, timers, humans, graceMs, ...otherFields } = run.state;
  expect([phase, end, frame]).toEqual(['ended', { status: 'failed' }, { left: 0, cells: [] }]);
  expect([busy, timers, humans, graceMs, otherFields]).toEqual([0, 0, 0, 50, {}]);
});
