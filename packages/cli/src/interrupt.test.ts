import { describe, expect, it, onTestFinished } from 'vitest';
import { onInterrupt } from './interrupt.ts';

/** Simulates Ctrl-C at these times. Returns the calls that `onInterrupt` makes. */
function pressCtrlC(...timesMs: number[]): string[] {
  const calls: string[] = [];
  let nowMs = 0;
  const stop = onInterrupt(() => calls.push(`cancel at ${nowMs}`), {
    now: () => nowMs,
    kill: () => calls.push(`kill at ${nowMs}`),
  });
  onTestFinished(stop);
  for (const ms of timesMs) {
    nowMs = ms;
    process.emit('SIGINT');
  }
  return calls;
}

describe('Ctrl-C', () => {
  it('cancels on the first press and kills on the second', () => {
    expect(pressCtrlC(1000, 1500)).toEqual(['cancel at 1000', 'kill at 1500']);
  });

  it('counts two signals within 200 ms as one press', () => {
    expect(pressCtrlC(1000, 1001, 1200)).toEqual(['cancel at 1000']);
  });

  it('is no longer handled afterwards', () => {
    const countBefore = process.listenerCount('SIGINT');
    onInterrupt(() => undefined)();
    expect(process.listenerCount('SIGINT')).toBe(countBefore);
  });
});
