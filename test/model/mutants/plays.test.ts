import { describe, expect, it } from 'vitest';
import { region } from '../../support/graph.ts';
import { play } from '../../support/play.ts';

describe('work in its grace', () => {
  it('R30 does not end by a time-out that it does not have', () => {
    const { run } = play(region('s -> f, a'));
    run.complete('s');
    expect(run.fail('f')).toEqual(['timer grace 1050']);
    expect(run.fire('a', 'timeout', 1)).toEqual([]);
    expect(run.changed).toBe(false);
    expect(run.complete('a')).toEqual(['end failed block f']);
  });

  it('R20 that completes by the port `error` has not failed', () => {
    const { run } = play(region('s -> f, a', 'a:error -> h'));
    run.complete('s');
    run.fail('f');
    expect(run.complete('a', 'error')).toEqual(['end failed block f']);
    expect(run.notices).toEqual([]);
  });
});

describe('a question', () => {
  it.each([
    ['is not out any more', { type: 'expanded', at: [0], atMs: 0, turn: 1, count: 2 }],
    ['is not out any more and has failed', { type: 'failed', at: [0], atMs: 0, try: 0, retryable: false }],
  ] as const)('R30 that %s is not answered', (_, event) => {
    const { run } = play(region('P', { P: { kind: 'parallel', subflow: { body: region('x'), limit: 9 } } }));
    expect(run.expand('P', 1)).toEqual(['run P/0/x']);
    expect(run.feed(event)).toEqual([]);
    expect(run.changed).toBe(false);
  });
});
