import { describe, expect, it } from 'vitest';
import { loop, parallel, region } from '../../../../test/support/graph.ts';
import { startMachine } from '../../../../test/support/run-machine.ts';
import { retryWaitMs } from './failure.ts';

// The R numbers in titles are the rules of docs/semantics.md.

const retry = { maxTries: 3, waitMs: 100, backoff: 2, maxWaitMs: 1000, jitter: 0 };

describe('a failed attempt', () => {
  it('is followed by another, until one succeeds (R13)', () => {
    const { run } = startMachine(region('a -> b', { a: { retry: { ...retry, waitMs: 0 } } }));
    expect(run.fail('a')).toEqual(['run a #2']);
    expect(run.complete('a', undefined, 2)).toEqual(['run b']);
  });

  it('is the last if the policy allows no more (R13)', () => {
    const { run } = startMachine(region('a:error -> h', { a: { retry: { ...retry, waitMs: 0 } } }));
    run.fail('a');
    expect(run.fail('a', { attempt: 2 })).toEqual(['run a #3']);
    expect(run.fail('a', { attempt: 3 })).toEqual(['run h']);
  });

  it('without a policy is the only one (R13)', () => {
    expect(startMachine(region('a')).run.fail('a')).toEqual(['end failed block a']);
  });

  it('that is not retryable is the last (R13)', () => {
    const { run } = startMachine(region('a:error -> h', { a: { retry } }));
    expect(run.fail('a', { retryable: false })).toEqual(['run h']);
  });

  it('is followed by another after a wait (R14)', () => {
    const { run } = startMachine(region('a', { a: { retry } }));
    expect(run.fail('a')).toEqual(['timer a retry 1100']);
    run.nowMs = 1100;
    expect(run.fire('a', 'retry', 2)).toEqual(['run a #2']);
    expect(run.fail('a', { attempt: 2 })).toEqual(['timer a retry 1300']);
  });

  it('that waits for its retry is aborted with the run (R14)', () => {
    const { run } = startMachine(region('s -> a, b', { a: { retry } }));
    run.complete('s');
    run.fail('a');
    expect(run.fail('b')).toEqual(['abort a failed', 'end failed block b']);
  });
});

describe('the wait before a retry', () => {
  it.each([
    [retry, 1, {}, 100],
    [retry, 2, {}, 200],
    [retry, 3, {}, 400],
    [retry, 9, {}, 1000],
    [{ ...retry, backoff: 1 }, 9, {}, 100],
    [{ ...retry, jitter: 0.5 }, 1, { jitter: 1 }, 50],
    [{ ...retry, jitter: 0.5 }, 1, { jitter: 0.5 }, 75],
    [{ ...retry, jitter: 0.5 }, 1, {}, 100],
    [retry, 1, { retryAfterMs: 5000 }, 5000],
    [retry, 1, { retryAfterMs: 5 }, 100],
    [{ ...retry, waitMs: 0 }, 1, { retryAfterMs: 5 }, 5],
    [{ ...retry, waitMs: 0 }, 5000, {}, 0],
    [retry, 5000, {}, 1000],
  ])(
    'grows, has a ceiling, is shortened by jitter, and is never shorter than Retry-After (%#) (R14)',
    (policy, attempt, failure, ms) => {
      expect(retryWaitMs(policy, attempt, failure)).toBe(ms);
    },
  );
});

describe('a failed block', () => {
  it('with an error port takes it, and the run continues (R15)', () => {
    const { run } = startMachine(region('s -> a, b', 'a -> c', 'a:error -> h -> j', 'b -> j'));
    run.complete('s');
    expect(run.fail('a')).toEqual(['run h']);
    expect(run.transitions).toEqual(['failed a handled']);
    run.complete('b');
    expect(run.complete('h')).toEqual(['run j']);
  });

  it('is not the same as a block that completes with the port `error`, which does not count as a failure (R15)', () => {
    const { run } = startMachine(region('a -> b'));
    expect(run.complete('a', 'error')).toEqual(['end completed']);
  });

  it('without an error port fails the nearest container that has one (R16)', () => {
    const graph = region('O -> z', 'O:error -> g', {
      O: loop(
        region('M:error -> h', { M: loop(region({ I: loop(region('x'), { count: 1 }) }), { count: 1 }) }),
        {
          count: 1,
        },
      ),
    });
    const { run } = startMachine(graph);
    expect(run.fail('O/0/M/0/I/0/x')).toEqual(['run O/0/h']);
    expect(run.transitions).toEqual([
      'failed O/0/M/0/I/0/x',
      'failed O/0/M handled because of O/0/M/0/I/0/x',
    ]);
    expect(run.complete('O/0/h')).toEqual(['run z']);
  });

  it('is collected by the nearest parallel that collects errors, even if it has an error port (R16)', () => {
    const graph = region('P -> a', 'P:error -> h', {
      P: parallel(region('x -> y'), { count: 2, collectErrors: true }),
    });
    const { run } = startMachine(graph);
    expect(run.fail('P/0/x')).toEqual([]);
    run.complete('P/1/x');
    expect(run.complete('P/1/y')).toEqual(['run a']);
  });

  it('is not collected if the parallel itself fails (R16)', () => {
    const { run } = startMachine(
      region('P:error -> h', { P: parallel(region('x'), { collectErrors: true }) }),
    );
    expect(run.fail('P', { attempt: 0 })).toEqual(['run h']);
  });

  it('that nothing handles fails the run (R16)', () => {
    const graph = region('P -> a', { P: parallel(region('x'), { count: 2 }) });
    const { run } = startMachine(graph, { graceMs: 0 });
    expect(run.fail('P/1/x')).toEqual(['abort P/0/x failed', 'end failed block P/1/x']);
    expect(run.state.end).toEqual({ status: 'failed' });
  });

  it('in a branch of a collecting parallel fails the loops around it, but not the parallel (R16)', () => {
    const inner = region('L -> y', { L: loop(region('x'), { count: 2 }) });
    const { run } = startMachine(
      region('P -> a', { P: parallel(inner, { count: 2, window: 1, collectErrors: true }) }),
    );
    expect(run.fail('P/0/L/0/x')).toEqual(['run P/1/L/0/x']);
  });
});
