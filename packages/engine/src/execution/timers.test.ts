import { expect, it } from 'vitest';
import { TestClock } from '../../../../test/support/test-clock.ts';
import { Timers } from './command-executor.ts';

it('a timer that is set again fires once, at the later time', () => {
  const clock = new TestClock();
  const timers = new Timers(clock);
  const fired: string[] = [];
  timers.set('a', 10, () => fired.push('first'));
  timers.set('a', 20, () => fired.push('second'));
  clock.advance(15);
  expect([fired, timers.size]).toEqual([[], 1]);
  clock.advance(5);
  expect([fired, timers.size]).toEqual([['second'], 0]);
});

it('a timer that is cancelled, or cleared with all others, does not fire', () => {
  const clock = new TestClock();
  const timers = new Timers(clock);
  const fired: string[] = [];
  for (const name of ['a', 'b', 'c']) timers.set(name, 10, () => fired.push(name));
  timers.cancel('a');
  timers.cancel('no such timer');
  timers.clear();
  clock.advance(100);
  expect([fired, timers.size, clock.pendingTimerCount]).toEqual([[], 0, 0]);
});
