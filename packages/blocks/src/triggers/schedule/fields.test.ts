import { describe, expect, it } from 'vitest';
import { parseScheduleConfig } from './fields.ts';

const POLICY = { jitterMs: 0, missed: 'last', missedLimit: 10, overlap: 'allow' };

function configOf(fields: Parameters<typeof parseScheduleConfig>[0]) {
  const result = parseScheduleConfig(fields);
  if ('problems' in result) throw new Error(JSON.stringify(result.problems));
  return result.config;
}

describe('the fields of a schedule', () => {
  it.each([
    [{ scheduleType: 'minutes', minutesInterval: '15' }, { everyMinutes: 15 }],
    [{ scheduleType: 'hourly', hourlyMinute: '0' }, { cron: '0 * * * *' }],
    [{ scheduleType: 'daily', dailyTime: '08:05' }, { cron: '5 8 * * *' }],
    [{ dailyTime: '9:00' }, { cron: '0 9 * * *' }],
    [{ scheduleType: 'weekly', weeklyDay: 'MON', weeklyDayTime: '23:59' }, { cron: '59 23 * * MON' }],
    [
      { scheduleType: 'weekly', weeklyDay: 'monday, Fri', weeklyDayTime: '09:00' },
      { cron: '0 9 * * MON,FRI' },
    ],
    [{ scheduleType: 'monthly', monthlyDay: 31, monthlyTime: '00:00' }, { cron: '0 0 31 * *' }],
    [{ scheduleType: 'custom', cronExpression: ' */5 9-17 * * 1-5 ' }, { cron: '*/5 9-17 * * 1-5' }],
    [{ scheduleType: 'cron', cronExpression: '@daily' }, { cron: '@daily' }],
  ])('%j set the times %j', (fields, times) => {
    expect(configOf(fields)).toEqual({ times, timeZone: 'UTC', ...POLICY });
  });

  it('of other kinds are ignored, and so are empty fields', () => {
    const fields = {
      scheduleType: 'hourly',
      hourlyMinute: 5,
      dailyTime: 'x',
      timezone: '',
      cronExpression: null,
    };
    expect(configOf(fields)).toEqual({ times: { cron: '5 * * * *' }, timeZone: 'UTC', ...POLICY });
  });

  it('set the bounds in the time zone of the schedule, unless a bound has an offset', () => {
    const daily = { dailyTime: '09:00', timezone: 'america/new_york' };
    const bounds = { startsAt: '2026-07-01', endsAt: '2026-12-01T12:00' };
    expect(configOf({ ...daily, ...bounds })).toMatchObject({
      timeZone: 'America/New_York',
      startMs: Date.parse('2026-07-01T04:00Z'),
      endMs: Date.parse('2026-12-01T17:00Z'),
    });
    expect(configOf({ ...daily, startsAt: '2026-07-01T00:00+02:00' })).toMatchObject({
      startMs: Date.parse('2026-06-30T22:00Z'),
    });
  });

  it('set the jitter and the policies', () => {
    const policy = { jitterSeconds: '90', missedRuns: 'all', missedLimit: 3, overlap: 'queue' };
    expect(configOf({ dailyTime: '09:00', ...policy })).toMatchObject({
      ...{ jitterMs: 90_000, missed: 'all', missedLimit: 3, overlap: 'queue' },
    });
  });

  it.each([
    [{ scheduleType: 'yearly' }, 'scheduleType'],
    [{}, 'dailyTime'],
    [{ scheduleType: 'weekly', weeklyDay: 'MON' }, 'weeklyDayTime'],
    [{ scheduleType: 'minutes', minutesInterval: '0' }, 'minutesInterval'],
    [{ scheduleType: 'minutes', minutesInterval: '1.5' }, 'minutesInterval'],
    [{ scheduleType: 'hourly', hourlyMinute: '60' }, 'hourlyMinute'],
    [{ dailyTime: '24:00' }, 'dailyTime'],
    [{ dailyTime: '{{TIME}}' }, 'dailyTime'],
    [{ scheduleType: 'weekly', weeklyDay: 'MONKEY', weeklyDayTime: '09:00' }, 'weeklyDay'],
    [{ scheduleType: 'weekly', weeklyDay: 'someday', weeklyDayTime: '09:00' }, 'weeklyDay'],
    [{ scheduleType: 'monthly', monthlyDay: 32, monthlyTime: '09:00' }, 'monthlyDay'],
    [{ scheduleType: 'cron', cronExpression: '* * * * * *' }, 'cronExpression'],
    [{ scheduleType: 'cron', cronExpression: '0 0 31 2 *' }, 'cronExpression'],
    [{ scheduleType: 'cron', cronExpression: `${'0,'.repeat(200)}0 * * * *` }, 'cronExpression'],
    [{ dailyTime: '09:00', timezone: 'Mars/Olympus' }, 'timezone'],
    [{ dailyTime: '09:00', startsAt: 'soon' }, 'startsAt'],
    [{ dailyTime: '09:00', startsAt: '2026-02-02', endsAt: '2026-02-01' }, 'endsAt'],
    [{ dailyTime: '09:00', startsAt: '2026-02-02T10:00Z', endsAt: '2026-02-02T11:00Z' }, 'endsAt'],
    [{ dailyTime: '09:00', jitterSeconds: 3601 }, 'jitterSeconds'],
    [{ dailyTime: '09:00', overlap: 'maybe' }, 'overlap'],
    [{ dailyTime: ['09:00'] }, 'dailyTime'],
  ])('%j are refused because of %s', (fields, field) => {
    const result = parseScheduleConfig(fields);
    expect(result).toMatchObject({ problems: [{ field, message: expect.stringMatching(/^(is|leaves) /) }] });
  });
});
