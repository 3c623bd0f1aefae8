import { describe, expect, it } from 'vitest';
import { region } from '../../../../test/support/graph.ts';
import { startMachine } from '../../../../test/support/run-machine.ts';
import { pendingCommands } from './pending-commands.ts';
import { idleState } from './state.ts';

// The R numbers in titles are the rules of docs/semantics.md.

describe('the timeout of a block', () => {
  const retry = { maxTries: 2, waitMs: 5, backoff: 1, maxWaitMs: 5, jitter: 0 };

  it('aborts the attempt and counts as its failure (R21)', () => {
    const { run, firstCommands } = startMachine(region('a:error -> h', { a: { timeoutMs: 30 } }));
    expect(firstCommands).toEqual(['run a', 'timer a timeout 1030']);
    expect(run.fire('a', 'timeout', 1)).toEqual(['abort a timeout', 'run h']);
    expect(run.transitions).toEqual(['failed a handled timed out']);
  });

  it('applies to each attempt (R21)', () => {
    const { run } = startMachine(region('a', { a: { timeoutMs: 30, retry } }));
    expect(run.fire('a', 'timeout', 1)).toEqual(['abort a timeout', 'timer a retry 1005']);
    run.nowMs = 1005;
    expect(run.fire('a', 'retry', 2)).toEqual(['run a #2', 'timer a timeout 1035']);
    expect(run.fire('a', 'timeout', 1)).toEqual([]);
  });

  it.each(['pause', 'wait'] as const)('does not apply to a suspended block: %s (R21)', (action) => {
    const { run } = startMachine(region('a', { a: { timeoutMs: 30 } }));
    run[action]('a');
    expect(run.fire('a', 'timeout', 1)).toEqual([]);
    expect(run.changed).toBe(false);
  });
});

describe('a pause', () => {
  it('is open as soon as its block is reached, while other branches continue (R22)', () => {
    const { run } = startMachine(region('s -> p -> a', 's -> b -> c'));
    run.complete('s');
    expect(run.pause('p')).toEqual(['open p']);
    expect(run.complete('b')).toEqual(['run c']);
    expect(run.resume('p')).toEqual(['run a']);
  });

  it('ends through the port `source`, which makes its error edge dead (R22)', () => {
    const { run } = startMachine(region('p -> a', 'p:error -> h'));
    run.pause('p');
    expect(run.resume('p')).toEqual(['run a']);
  });

  it('can be resumed once, several pauses in any order; a join waits for all of them (R22)', () => {
    const { run } = startMachine(region('s -> p, q -> j'));
    run.complete('s');
    run.pause('p');
    run.pause('q');
    expect(run.resume('q')).toEqual([]);
    expect(run.resume('q')).toEqual([]);
    expect(run.changed).toBe(false);
    expect(run.resume('p')).toEqual(['run j']);
  });

  it('is not ended by a timer, and a wait is not ended by a resume (R22)', () => {
    const { run } = startMachine(region('s -> p, w'));
    run.complete('s');
    run.pause('p');
    run.wait('w');
    expect([run.fire('p', 'wait'), run.resume('w')]).toEqual([[], []]);
    expect(run.state).toMatchObject({ humans: 1, timers: 1 });
  });
});

describe('a pause that continues its block', () => {
  const retry = { maxTries: 2, waitMs: 0, backoff: 1, maxWaitMs: 0, jitter: 0 };

  it('runs the same attempt again, which may pause again, and takes the port of its result (R46)', () => {
    const { run } = startMachine(region('a -> b'));
    expect(run.pauseToContinue('a')).toEqual(['open a']);
    expect(run.pendingCommands()).toEqual(['open a']);
    expect(idleState(run.state)).toBe('human');
    expect(run.resume('a', { attempt: 1 })).toEqual(['run a +1']);
    expect(run.pendingCommands()).toEqual(['run a +1']);
    expect(run.pauseToContinue('a', { resumes: 1 })).toEqual(['open a +1']);
    expect(run.resume('a', { attempt: 1, resumes: 1 })).toEqual(['run a +2']);
    expect(run.complete('a', undefined, 1, 2)).toEqual(['run b']);
  });

  it('is answered once; late results from before the answer change nothing (R46)', () => {
    const { run } = startMachine(region('a -> b', { a: { retry } }));
    run.pauseToContinue('a');
    for (const target of [{}, { attempt: 2 }, { attempt: 1, resumes: 1 }])
      expect(run.resume('a', target)).toEqual([]);
    run.resume('a', { attempt: 1 });
    const lateResults = [
      run.complete('a'),
      run.fail('a'),
      run.pauseToContinue('a'),
      run.resume('a', { attempt: 1 }),
      run.complete('a', undefined, 1, 2),
    ];
    expect(lateResults).toEqual([[], [], [], [], []]);
    run.pauseToContinue('a', { resumes: 1 });
    expect(run.resume('a', { attempt: 1 })).toEqual([]);
    expect(run.changed).toBe(false);
  });

  it('keeps the remaining timeout: time spent waiting for a person does not count (R46)', () => {
    const { run, firstCommands } = startMachine(region('a', { a: { timeoutMs: 30 } }));
    expect(firstCommands).toEqual(['run a', 'timer a timeout 1030']);
    run.nowMs = 1010;
    expect(run.pauseToContinue('a')).toEqual(['open a']);
    run.nowMs = 5000;
    expect(run.fire('a', 'timeout', 1)).toEqual([]);
    expect(run.resume('a', { attempt: 1 })).toEqual(['run a +1', 'timer a timeout 5020']);
    expect(run.pendingCommands()).toEqual(['run a +1', 'timer a timeout 5020']);
    // The timer from before the pause.
    run.nowMs = 5019;
    expect(run.fire('a', 'timeout', 1)).toEqual([]);
    run.nowMs = 5020;
    expect(run.fire('a', 'timeout', 1)).toEqual(['abort a timeout', 'end failed block a']);
  });

  it('does not count as an attempt: a failure afterwards is retried as usual, and the next attempt has no resumes (R46)', () => {
    const { run } = startMachine(region('a', { a: { retry } }));
    run.pauseToContinue('a');
    run.resume('a', { attempt: 1 });
    expect(run.fail('a', { resumes: 1 })).toEqual(['run a #2']);
    run.pauseToContinue('a', { attempt: 2 });
    expect(run.resume('a', { attempt: 2 })).toEqual(['run a #2 +1']);
    expect(run.fail('a', { attempt: 2, resumes: 1 })).toEqual(['end failed block a']);
  });

  it('is aborted immediately when its scope drains or the run is cancelled (R46)', () => {
    const { run } = startMachine(region('s -> a, f'));
    run.complete('s');
    run.pauseToContinue('a');
    expect(run.fail('f')).toEqual(['abort a failed', 'end failed block f']);
    const secondRun = startMachine(region('a')).run;
    secondRun.pauseToContinue('a');
    expect(secondRun.cancel()).toEqual(['abort a cancelled', 'end cancelled']);
  });
});

describe('a wait', () => {
  it('ends at its due time (R23)', () => {
    const { run } = startMachine(region('w -> a'));
    expect(run.wait('w', 5000)).toEqual(['timer w wait 5000']);
    run.nowMs = 5000;
    expect(run.fire('w', 'wait')).toEqual(['run a']);
  });

  it('without a time ends immediately (R23)', () => {
    const { run } = startMachine(region('w'));
    expect(run.feed({ type: 'paused', at: [0], atMs: 7, attempt: 1, kind: 'time' })).toEqual([
      'timer w wait 7',
    ]);
  });
});

describe('a child run', () => {
  const childGraph = region('c -> a', { c: { class: 'child', timeoutMs: 500 } });

  it.each([
    ['human', 'human'],
    ['time', 'time'],
  ] as const)(
    'that is blocked (%s) makes its parent idle, until it runs or ends (R24)',
    (on, expectedState) => {
      const { run } = startMachine(childGraph);
      expect(run.block('c', on)).toEqual([]);
      expect(idleState(run.state)).toBe(expectedState);
      run.block('c', null);
      expect(idleState(run.state)).toBe('running');
      run.block('c', on);
      expect(run.complete('c')).toEqual(['run a']);
      expect(run.state).toMatchObject({ busy: 1, humans: 0, timers: 0 });
    },
  );

  it('can be blocked on a time, then on a person; repeating an event has no effect (R24)', () => {
    const { run } = startMachine(childGraph);
    run.block('c', 'time');
    run.block('c', 'human');
    expect(run.state).toMatchObject({ busy: 0, humans: 1, timers: 0 });
    run.block('c', 'human');
    expect(run.changed).toBe(false);
  });

  it('blocks an agent that waits for it, and the attempt of the agent keeps its number (R24)', () => {
    const agentGraph = region('c -> a', { c: { class: 'effect', timeoutMs: 500 } });
    const { run } = startMachine(agentGraph);
    run.block('c', 'human');
    expect(idleState(run.state)).toBe('human');
    expect(pendingCommands(agentGraph, run.state)).toMatchObject([
      { type: 'run', try: 1 },
      { timer: 'timeout' },
    ]);
    run.block('c', null);
    expect(run.complete('c')).toEqual(['run a']);
  });

  it('times out even while blocked (R24)', () => {
    const { run } = startMachine(childGraph);
    run.block('c', 'human');
    expect(run.fire('c', 'timeout', 1)).toEqual(['abort c timeout', 'end failed block c']);
  });
});
