import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { systemClock } from './clock.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: 1000 });
});
afterEach(() => {
  vi.useRealTimers();
});

it('a timer fires once, at its time', () => {
  const fire = vi.fn<() => void>();
  systemClock.at(1500, fire);
  vi.advanceTimersByTime(499);
  expect(fire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1000);
  expect(fire).toHaveBeenCalledTimes(1);
});

it('a timer whose time has passed fires in a later iteration of the event loop', () => {
  const fire = vi.fn<() => void>();
  systemClock.at(-5, fire);
  expect(fire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(0);
  expect(fire).toHaveBeenCalledTimes(1);
});

it('a timer can exceed the maximum delay of Node', () => {
  const fire = vi.fn<() => void>();
  const sixtyDaysMs = 60 * 24 * 3_600_000;
  systemClock.at(1000 + sixtyDaysMs, fire);
  vi.advanceTimersByTime(sixtyDaysMs - 1);
  expect(fire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(fire).toHaveBeenCalledTimes(1);
});

it('a timer does not fire early if the wall clock was set back', () => {
  const fire = vi.fn<() => void>();
  systemClock.at(2000, fire);
  vi.setSystemTime(500);
  vi.advanceTimersByTime(1000);
  expect(fire).not.toHaveBeenCalled();
  vi.advanceTimersByTime(500);
  expect(fire).toHaveBeenCalledTimes(1);
});

it('a cancelled timer does not fire', () => {
  const fire = vi.fn<() => void>();
  const cancel = systemClock.at(2000, fire);
  vi.setSystemTime(500);
  vi.advanceTimersByTime(1000);
  cancel();
  vi.advanceTimersByTime(5000);
  expect(fire).not.toHaveBeenCalled();
});
