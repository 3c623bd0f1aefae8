import { describe, expect, it } from 'vitest';
import { createTimeScale } from '../../packages/studio/web/run/time-scale.ts';

const span = (relativeStartMs: number, durationMs: number | null, childCount = 0) => ({
  ...{ relativeStartMs, durationMs, childCount },
});

describe('the scale of a timeline', () => {
  it('collapses idle time to a small fraction of the busy time', () => {
    const hour = 3_600_000;
    const scale = createTimeScale([span(0, 1000), span(hour, 1000)], hour + 1000);
    // A gap may take 4 % of 2,000 ms of work: 80 ms.
    expect(scale.collapsedMs).toBe(hour - 1000 - 80);
    expect(scale.positionAt(0)).toBe(0);
    expect(scale.positionAt(1000)).toBeCloseTo(1000 / 2080);
    expect(scale.positionAt(hour)).toBeCloseTo(1080 / 2080);
    expect(scale.positionAt(hour + 1000)).toBe(1);
    expect(scale.widthOf(span(0, 1000))).toBeCloseTo(scale.widthOf(span(hour, 1000)));
  });

  it('keeps short gaps, and collapses gaps that only a container covers', () => {
    const scale = createTimeScale(
      [span(0, 10_000, 2), span(0, 1000), span(1020, 980), span(9000, 1000)],
      10_000,
    );
    expect(scale.positionAt(1020) - scale.positionAt(1000)).toBeCloseTo(
      20 / (2980 + 20 + scale.positionAt(0) + 2980 * 0.04),
    );
    expect(scale.collapsedMs).toBeCloseTo(7000 - 2980 * 0.04);
    expect(scale.widthOf(span(0, 10_000, 2))).toBe(1);
  });

  it('collapses nothing when blocks ran all the time, in parallel or nested', () => {
    const scale = createTimeScale([span(0, 600), span(100, 100), span(500, 500)], 1000);
    expect(scale.collapsedMs).toBe(0);
    expect([0, 250, 1000].map((ms) => scale.positionAt(ms))).toEqual([0, 0.25, 1]);
  });

  it('puts a time in a collapsed gap between the work before and after the gap', () => {
    const scale = createTimeScale([span(0, 100), span(100_000, 100)], 100_100);
    const positions = [100, 5000, 50_000, 99_999, 100_000].map((ms) => scale.positionAt(ms));
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
    expect(scale.positionAt(50_000)).toBe(scale.positionAt(100_000));
  });

  it('extends an open span until now, and gives every span a visible width', () => {
    const scale = createTimeScale([span(0, 100), span(100, null)], 400);
    expect(scale.widthOf(span(100, null))).toBeCloseTo(0.75);
    expect(scale.widthOf(span(50, 0))).toBe(0.002);
    expect(createTimeScale([], 0).positionAt(0)).toBe(0);
  });

  it('keeps all spans within the timeline and in order', () => {
    let seed = 7;
    const randomBelow = (limit: number): number => (seed = (seed * 48_271) % 2_147_483_647) % limit;
    for (let round = 0; round < 50; round += 1) {
      const spans = Array.from({ length: 1 + randomBelow(40) }, () =>
        span(randomBelow(1_000_000), randomBelow(5) === 0 ? null : randomBelow(20_000), randomBelow(3)),
      );
      const scale = createTimeScale(spans, 1_020_000);
      const times = spans.map(({ relativeStartMs }) => relativeStartMs).toSorted((a, b) => a - b);
      const positions = times.map((ms) => scale.positionAt(ms));
      expect(positions).toEqual(positions.toSorted((a, b) => a - b));
      expect(Math.min(...positions)).toBeGreaterThanOrEqual(0);
      expect(Math.max(...positions)).toBeLessThanOrEqual(1);
    }
  });
});
