import { describe, expect, it } from 'vitest';
import { Pulse } from './stall-detector.ts';

/** A pulse by a clock of the test's own. */
function pulseOf(): { pulse: Pulse; stand: (ms: number) => void } {
  let nowMs = 1000;
  return { pulse: new Pulse(() => nowMs), stand: (ms) => void (nowMs += ms) };
}

describe('what a process was about to write', () => {
  it('may be written while it goes on', async () => {
    const { pulse, stand } = pulseOf();
    await pulse.during(async () => {
      stand(6_000);
      pulse.expectBeating('r');
      stand(6_000);
      await Promise.resolve();
      expect(pulse.missed).toBe(false);
    });
  });

  it('may not be written after it has stood still, however long it has been awake since', async () => {
    const { pulse, stand } = pulseOf();
    await pulse.during(async () => {
      stand(8_000);
      await Promise.resolve();
      expect(pulse.missed).toBe(true);
      stand(1);
      expect(() => pulse.expectBeating('r')).toThrow(expect.objectContaining({ code: 'RUN_ELSEWHERE' }));
    });
  });

  it('may be written when the work began after that', async () => {
    const { pulse, stand } = pulseOf();
    await pulse.during(async () => {
      stand(8_000);
      await pulse.during(async () => pulse.expectBeating('r'));
      expect(pulse.missed).toBe(true);
    });
    stand(60_000);
    await pulse.during(async () => pulse.expectBeating('r'));
  });

  it('is nobody else’s affair: what is no such work is not asked', () => {
    const { pulse, stand } = pulseOf();
    stand(60_000);
    expect(pulse.missed).toBe(false);
  });
});
