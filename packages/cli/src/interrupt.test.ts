import { describe, expect, it, onTestFinished } from 'vitest';
import { onInterrupt } from './interrupt.ts';

/** Presses Ctrl-C at these times, and returns what happened. */
function pressed(...atMs: number[]): string[] {
  const done: string[] = [];
  let nowMs = 0;
  const stop = onInterrupt(() => done.push(`cancel at ${nowMs}`), {
    now: () => nowMs,
    kill: () => done.push(`kill at ${nowMs}`),
  });
  onTestFinished(stop);
  for (const ms of atMs) {
    nowMs = ms;
    process.emit('SIGINT');
  }
  return done;
}

describe('Ctrl-C', () => {
  it('cancels on the first press and kills on the second', () => {
    expect(pressed(1000, 1500)).toEqual(['cancel at 1000', 'kill at 1500']);
  });

  it('counts two signals within a moment as one press', () => {
    expect(pressed(1000, 1001, 1200)).toEqual(['cancel at 1000']);
  });

  it('is no longer handled afterwards', () => {
    const before = process.listenerCount('SIGINT');
    onInterrupt(() => undefined)();
    expect(process.listenerCount('SIGINT')).toBe(before);
  });
});
