import { describe, expect, it } from 'vitest';
import { StallDetector } from './stall-detector.ts';

/** Returns a detector with its own clock. */
function createDetector(): { stalls: StallDetector; advance: (ms: number) => void } {
  let nowMs = 1000;
  return { stalls: new StallDetector(() => nowMs), advance: (ms) => void (nowMs += ms) };
}

describe('StallDetector', () => {
  it('allows writes while the process runs', async () => {
    const { stalls, advance } = createDetector();
    await stalls.watch(async () => {
      advance(6_000);
      stalls.expectNoStall('r');
      advance(6_000);
      await Promise.resolve();
      expect(stalls.wasStalled).toBe(false);
    });
  });

  it('refuses writes after a stall, even if the process has run for a long time since then', async () => {
    const { stalls, advance } = createDetector();
    await stalls.watch(async () => {
      advance(8_000);
      await Promise.resolve();
      expect(stalls.wasStalled).toBe(true);
      advance(1);
      expect(() => stalls.expectNoStall('r')).toThrow(expect.objectContaining({ code: 'RUN_ELSEWHERE' }));
    });
  });

  it('allows writes of work that began after the stall', async () => {
    const { stalls, advance } = createDetector();
    await stalls.watch(async () => {
      advance(8_000);
      await stalls.watch(async () => stalls.expectNoStall('r'));
      expect(stalls.wasStalled).toBe(true);
    });
    advance(60_000);
    await stalls.watch(async () => stalls.expectNoStall('r'));
  });

  it('ignores code outside watched work', () => {
    const { stalls, advance } = createDetector();
    advance(60_000);
    expect(stalls.wasStalled).toBe(false);
  });
});
