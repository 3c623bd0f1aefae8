import { describe, expect, it } from 'vitest';
import { capsOf, formatDollars, windowAt } from './spending-caps.ts';
import type { MaxCost } from './spending-caps.ts';

describe('caps', () => {
  it('are whole numbers of millionths of a dollar', () => {
    expect(capsOf({ call: 0.1, run: 0, tenant: { dollars: 20, per: 'day' } })).toEqual({
      call: { micros: 100_000 },
      run: { micros: 0 },
      tenant: { micros: 20_000_000, per: 'day' },
    });
  });

  it.each<MaxCost>([
    { call: -1 },
    { run: Number.NaN },
    { conversation: { dollars: 1e10 } },
    { tenant: { dollars: 1, per: 'week' as never } },
  ])('%j is refused with OPTIONS_INVALID', (maxCost) => {
    expect(() => capsOf(maxCost)).toThrow(/maxCost\.\w+(?:\.per)? must be/);
  });

  it('have windows of calendar hours, days and months in UTC', () => {
    const nowMs = Date.UTC(2024, 1, 29, 23, 59, 59, 999);
    const endOf = (per: 'hour' | 'day' | 'month') => new Date(windowAt(per, nowMs).endsMs).toISOString();
    expect([endOf('hour'), endOf('day'), endOf('month')]).toEqual(Array(3).fill('2024-03-01T00:00:00.000Z'));
    expect(windowAt('month', nowMs).start).toBe('2024-02');
    expect(windowAt('hour', nowMs).start).not.toBe(windowAt('hour', nowMs + 1).start);
    const december = windowAt('month', Date.UTC(2024, 11, 1));
    expect(new Date(december.endsMs).toISOString()).toBe('2025-01-01T00:00:00.000Z');
  });

  it('are shown in dollars without trailing zeros', () => {
    expect([1_000_000, 12_500, 1, 0].map(formatDollars)).toEqual(['$1', '$0.0125', '$0.000001', '$0']);
  });
});
