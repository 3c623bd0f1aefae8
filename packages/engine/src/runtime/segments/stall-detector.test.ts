import { describe, expect, it } from 'vitest';
import { StallDetector } from './stall-detector.ts';

/** Returns a detector with its own clock. */
function createDetector(): { detector: StallDetector; advance: (ms: number) => void } {
  let nowMs = 1000;
  return { detector: new StallDetector(() => nowMs), advance: (ms) => void (nowMs += ms) };
}

describe('StallDetector', () => {
  it('allows writes while the process runs', async () => {
    const { detector, advance } = createDetector();
    await detector.watch(async () => {
      advance(6_000);
      detector.requireNoStall('r');
      advance(6_000);
      await Promise.resolve();
      expect(detector.wasStalled).toBe(false);
    });
  });

  it('refuses writes after a stall, even if the process has run for a long time since then', async () => {
    const { detector, advance } = createDetector();
    await detector.watch(async () => {
      advance(8_000);
      await Promise.resolve();
      expect(detector.wasStalled).toBe(true);
      advance(1);
      expect(() => detector.requireNoStall('r')).toThrow(expect.objectContaining({ code: 'RUN_ELSEWHERE' }));
    });
  });

  it('allows writes of work that began after the stall', async () => {
    const { detector, advance } = createDetector();
    await detector.watch(async () => {
      advance(8_000);
      await detector.watch(async () => detector.requireNoStall('r'));
      expect(detector.wasStalled).toBe(true);
    });
    advance(60_000);
    await detector.watch(async () => detector.requireNoStall('r'));
  });

  it('ignores code outside watched work', () => {
    const { detector, advance } = createDetector();
    advance(60_000);
    expect(detector.wasStalled).toBe(false);
  });
});
