import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@heddle/core/blocks';
import { contextOf, failureOf } from '../../../../test/support/block.ts';
import { TestClock } from '../../../../test/support/test-clock.ts';
import { waitExecutor } from './wait.ts';

const NOW_MS = Date.UTC(2026, 0, 1);
const wait = (params: JsonObject): unknown =>
  waitExecutor.execute(contextOf({ type: 'wait', params, clock: new TestClock(NOW_MS) }));

describe('a wait', () => {
  it.each<[JsonObject, number]>([
    [{ timeValue: '0.05', timeUnit: 'seconds' }, 50],
    [{ timeValue: 2, timeUnit: 'minutes' }, 120_000],
    [{}, 10_000],
    [{ timeValue: '', timeUnit: '' }, 10_000],
    [{ timeValue: '1.5', timeUnit: 'hours' }, 5_400_000],
    [{ timeValue: '400', timeUnit: 'days' }, 34_560_000_000],
  ])('%j lasts %i ms, without a maximum (r621, W1–W5)', (params, waitDuration) => {
    expect(wait(params)).toEqual({
      waitUntilMs: NOW_MS + waitDuration,
      waiting: { waitDuration, status: 'waiting', resumeAt: new Date(NOW_MS + waitDuration).toISOString() },
      output: { waitDuration, status: 'completed' },
    });
  });

  it('uses the unit of async waits, minutes by default, and outputs the time at which it resumes (W9–W17)', () => {
    const params = { async: true, timeValue: '1', timeUnit: 'seconds' };
    expect(wait(params)).toMatchObject({
      output: { waitDuration: 60_000, status: 'completed', resumeAt: '2026-01-01T00:01:00.000Z' },
    });
    expect(wait({ ...params, timeUnitLong: 'days', timeValue: '0.5' })).toMatchObject({
      waitUntilMs: NOW_MS + 43_200_000,
    });
  });

  it.each<[JsonObject, string]>([
    [{ timeValue: '-1' }, 'above 0'],
    [{ timeValue: '0' }, 'above 0'],
    [{ timeValue: 'abc' }, '"abc"'],
    [{ timeValue: '1', timeUnit: 'years' }, '"years"'],
    [{ async: 'true', timeUnitLong: 'seconds' }, 'seconds'],
    [{ timeValue: '1e15', timeUnit: 'days' }, 'beyond the last date'],
  ])('%j is refused (r623–r626)', async (params, message) => {
    expect(await failureOf(() => wait(params))).toMatchObject({
      code: 'WAIT_INVALID',
      message: expect.stringContaining(message) as string,
    });
  });
});
