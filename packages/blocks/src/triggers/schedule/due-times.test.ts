import { describe, expect, it } from 'vitest';
import { cronProblem, lastDueTime, nextDueTime } from './due-times.ts';
import type { Schedule } from './due-times.ts';

const msOf = (text: string): number => Date.parse(text);

function cronSchedule(expression: string, timeZone = 'UTC', bounds: Partial<Schedule> = {}): Schedule {
  return { times: { cron: expression }, timeZone, ...bounds };
}

/** Returns the first due times after `after`. */
function dueTimes(schedule: Schedule, after: string, count: number): string[] {
  const times: string[] = [];
  let from = msOf(after);
  while (times.length < count) {
    const next = nextDueTime(schedule, from);
    if (next === undefined) break;
    times.push(new Date(next).toISOString().replace(':00.000Z', 'Z'));
    from = next;
  }
  return times;
}

// Hand-written from the published rules of each zone: [zone, cron, after, due times in UTC].
const TRANSITIONS: readonly (readonly [string, string, string, readonly string[]])[] = [
  // Gap: 2026-03-08 02:00 EST becomes 03:00 EDT, at 07:00Z.
  ['America/New_York', '30 2 * * *', '2026-03-07T12:00Z', ['2026-03-08T07:00Z', '2026-03-09T06:30Z']],
  // Repeated: 2026-11-01 02:00 EDT becomes 01:00 EST, at 06:00Z.
  ['America/New_York', '30 1 * * *', '2026-10-31T12:00Z', ['2026-11-01T05:30Z', '2026-11-02T06:30Z']],
  // Gap: 2026-03-29 02:00 CET becomes 03:00 CEST, at 01:00Z. Several skipped times are one run.
  ['Europe/Berlin', '0,20,40 2 * * *', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:00Z']],
  // A skipped time adds no second run at a time right after the gap.
  [
    'Europe/Berlin',
    '0 2,3 * * *',
    '2026-03-28T12:00Z',
    ['2026-03-29T01:00Z', '2026-03-30T00:00Z', '2026-03-30T01:00Z'],
  ],
  // Repeated: 2026-10-25 03:00 CEST becomes 02:00 CET, at 01:00Z.
  ['Europe/Berlin', '0 2,3 * * *', '2026-10-24T12:00Z', ['2026-10-25T00:00Z', '2026-10-25T02:00Z']],
  // The given instant is in the second pass of a repeated hour: the first pass is over.
  ['Europe/Berlin', '30 2 * * *', '2026-10-25T01:10Z', ['2026-10-26T01:30Z']],
  // Half an hour: 2026-10-04 02:00 becomes 02:30, at 2026-10-03T15:30Z.
  ['Australia/Lord_Howe', '15 2 * * *', '2026-10-03T00:00Z', ['2026-10-03T15:30Z', '2026-10-04T15:15Z']],
  // Back by half an hour: 2026-04-05 02:00 becomes 01:30, at 2026-04-04T15:00Z.
  ['Australia/Lord_Howe', '45 1 * * *', '2026-04-04T00:00Z', ['2026-04-04T14:45Z', '2026-04-05T15:15Z']],
  // The gap begins at midnight: 2026-09-06 00:00 becomes 01:00, at 04:00Z.
  ['America/Santiago', '0 0 * * *', '2026-09-05T12:00Z', ['2026-09-06T04:00Z', '2026-09-07T03:00Z']],
  // The repeated hour ends at midnight: 2026-04-04 24:00 becomes 23:00, at 2026-04-05T03:00Z.
  ['America/Santiago', '30 23 * * *', '2026-04-04T12:00Z', ['2026-04-05T02:30Z', '2026-04-06T03:30Z']],
  // A skipped day: 2011-12-29 is followed by 2011-12-31, at 10:00Z.
  [
    'Pacific/Apia',
    '0 12 * * *',
    '2011-12-29T00:00Z',
    ['2011-12-29T22:00Z', '2011-12-30T10:00Z', '2011-12-30T22:00Z'],
  ],
  // No summer time: offsets of half and three quarters of an hour.
  ['Asia/Kolkata', '0 9 * * *', '2026-01-01T00:00Z', ['2026-01-01T03:30Z', '2026-01-02T03:30Z']],
  ['Asia/Kathmandu', '0 9 * * *', '2026-01-01T00:00Z', ['2026-01-01T03:15Z', '2026-01-02T03:15Z']],
];

// A schedule for every hour, through the same transitions.
const EVERY_HOUR: readonly (readonly [string, string, string, readonly string[]])[] = [
  [
    'America/New_York',
    '30 * * * *',
    '2026-03-08T06:00Z',
    ['2026-03-08T06:30Z', '2026-03-08T07:30Z', '2026-03-08T08:30Z'],
  ],
  [
    'America/New_York',
    '30 * * * *',
    '2026-11-01T05:00Z',
    ['2026-11-01T05:30Z', '2026-11-01T06:30Z', '2026-11-01T07:30Z'],
  ],
  [
    'America/New_York',
    '*/20 * * * *',
    '2026-11-01T05:30Z',
    ['2026-11-01T05:40Z', '2026-11-01T06:00Z', '2026-11-01T06:20Z'],
  ],
  [
    'Australia/Lord_Howe',
    '45 * * * *',
    '2026-04-04T14:00Z',
    ['2026-04-04T14:45Z', '2026-04-04T15:15Z', '2026-04-04T16:15Z'],
  ],
  // Only on one day, whose last hour is repeated.
  [
    'America/Santiago',
    '30 * 4 4 *',
    '2026-04-05T02:00Z',
    ['2026-04-05T02:30Z', '2026-04-05T03:30Z', '2027-04-04T04:30Z'],
  ],
];

describe('the next due time', () => {
  it.each([...TRANSITIONS, ...EVERY_HOUR])(
    'in %s of "%s" after %s follows the rules of the zone',
    (zone, expression, after, expected) => {
      expect(dueTimes(cronSchedule(expression, zone), after, expected.length)).toEqual(expected);
    },
  );

  it('of an interval depends on elapsed time, in every zone', () => {
    const schedule = (timeZone: string): Schedule => ({ times: { everyMinutes: 40 }, timeZone });
    const expected = ['2026-03-08T06:40Z', '2026-03-08T07:20Z', '2026-03-08T08:00Z'];
    expect(dueTimes(schedule('America/New_York'), '2026-03-08T06:00Z', 3)).toEqual(expected);
    expect(dueTimes(schedule('UTC'), '2026-03-08T06:00Z', 3)).toEqual(expected);
  });

  it('of an interval with a start counts from the start', () => {
    const schedule: Schedule = {
      times: { everyMinutes: 7 },
      timeZone: 'UTC',
      startMs: msOf('2026-01-01T00:03Z'),
    };
    expect(dueTimes(schedule, '2025-01-01T00:00Z', 2)).toEqual(['2026-01-01T00:03Z', '2026-01-01T00:10Z']);
    expect(dueTimes(schedule, '2026-01-01T00:10Z', 1)).toEqual(['2026-01-01T00:17Z']);
  });

  it('is never before the start or after the end, and may be at both', () => {
    const bounds = { startMs: msOf('2026-01-05T09:00Z'), endMs: msOf('2026-01-06T09:00Z') };
    expect(dueTimes(cronSchedule('0 9 * * *', 'UTC', bounds), '2020-01-01T00:00Z', 5)).toEqual([
      '2026-01-05T09:00Z',
      '2026-01-06T09:00Z',
    ]);
  });

  it('is strictly after the given instant, to the millisecond', () => {
    const daily = cronSchedule('0 9 * * *');
    expect(nextDueTime(daily, msOf('2026-01-01T08:59:59.999Z'))).toBe(msOf('2026-01-01T09:00Z'));
    expect(nextDueTime(daily, msOf('2026-01-01T09:00Z'))).toBe(msOf('2026-01-02T09:00Z'));
    expect(nextDueTime(daily, msOf('2026-01-01T09:00:00.001Z'))).toBe(msOf('2026-01-02T09:00Z'));
  });

  it('is undefined for a date that does not exist', () => {
    expect(nextDueTime(cronSchedule('0 0 31 2 *'), 0)).toBeUndefined();
  });

  it.each([
    ['0 0 31 * *', '2026-01-31T12:00Z', ['2026-03-31T00:00Z', '2026-05-31T00:00Z']],
    ['0 0 L * *', '2026-01-31T12:00Z', ['2026-02-28T00:00Z', '2026-03-31T00:00Z']],
    ['0 0 29 2 *', '2026-01-01T00:00Z', ['2028-02-29T00:00Z', '2032-02-29T00:00Z']],
    ['0 0 13 * FRI', '2026-02-12T00:00Z', ['2026-02-13T00:00Z', '2026-02-20T00:00Z']],
    ['0 9 * * 1#1', '2026-01-01T00:00Z', ['2026-01-05T09:00Z', '2026-02-02T09:00Z']],
    ['@weekly', '2026-01-01T00:00Z', ['2026-01-04T00:00Z', '2026-01-11T00:00Z']],
    ['@Hourly', '2026-01-01T00:00Z', ['2026-01-01T01:00Z', '2026-01-01T02:00Z']],
  ])('of "%s" after %s matches the expression', (expression, after, expected) => {
    expect(dueTimes(cronSchedule(expression), after, expected.length)).toEqual(expected);
  });
});

describe('the last due time', () => {
  it('is the latest one up to an instant, however long ago the first one was', () => {
    const span = (after: string, until: string) => ({ afterMs: msOf(after), untilMs: msOf(until) });
    const minutes = cronSchedule('* * * * *');
    expect(lastDueTime(minutes, span('2020-01-01T00:00Z', '2026-01-01T00:00:30Z'))).toBe(
      msOf('2026-01-01T00:00Z'),
    );
    const yearly = cronSchedule('0 0 1 1 *');
    expect(lastDueTime(yearly, span('2020-06-01T00:00Z', '2025-12-31T00:00Z'))).toBe(
      msOf('2025-01-01T00:00Z'),
    );
    expect(lastDueTime(yearly, span('2025-06-01T00:00Z', '2025-12-31T00:00Z'))).toBeUndefined();
    expect(lastDueTime(yearly, span('2025-01-01T00:00Z', '2026-01-01T00:00Z'))).toBe(
      msOf('2026-01-01T00:00Z'),
    );
  });

  it('may be many months before the end of the span', () => {
    const january = cronSchedule('* * * 1 *', 'Europe/Berlin');
    const span = { afterMs: msOf('2025-12-01T00:00Z'), untilMs: msOf('2026-12-01T00:00Z') };
    expect(lastDueTime(january, span)).toBe(msOf('2026-01-31T22:59Z'));
  });
});

describe('a cron expression', () => {
  it.each(['', 'x', '60 * * * *', '* * * *', '* * * * * *', '0 25 * * *', '@never', '*/0 * * * *'])(
    'is refused with a reason: "%s"',
    (expression) => {
      expect(cronProblem(expression)).toMatch(/\w/);
    },
  );

  it('may have names, ranges, lists and steps', () => {
    for (const valid of ['*/5 8-17 * JAN-MAR MON-FRI', '0 0 1,15 * *', '0 0 * * 7'])
      expect(cronProblem(valid), valid).toBeUndefined();
  });
});
