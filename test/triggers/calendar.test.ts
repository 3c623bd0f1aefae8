import { nextDueTime } from '@heddle/blocks/triggers';
import type { Schedule } from '@heddle/blocks/triggers';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { isFullRun, reportSkipped } from '../support/scale.ts';

// Compares the due times of three years with instants that the Temporal API of JavaScript calculates. It shares no
// code with the scheduler.

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const FIRST_DATE = Temporal.PlainDate.from('2025-01-01');
const DAY_COUNT = 3 * 365;

/** Time zones with all kinds of UTC offset transitions: at midnight, by half an hour, in both hemispheres, and none. */
const SAMPLE_ZONES = [
  ...[
    'UTC',
    'America/New_York',
    'America/St_Johns',
    'America/Santiago',
    'America/Asuncion',
    'America/Havana',
  ],
  ...[
    'America/Sao_Paulo',
    'Atlantic/Azores',
    'Europe/London',
    'Europe/Berlin',
    'Europe/Moscow',
    'Africa/Cairo',
  ],
  ...[
    'Africa/Casablanca',
    'Asia/Beirut',
    'Asia/Gaza',
    'Asia/Kolkata',
    'Asia/Kathmandu',
    'Australia/Lord_Howe',
  ],
  ...['Pacific/Chatham', 'Pacific/Apia'],
];
const ZONES = isFullRun ? Intl.supportedValuesOf('timeZone') : SAMPLE_ZONES;
if (!isFullRun) reportSkipped('the due times of three years in all time zones');

/** Returns the first instant of a local time. If a gap skips that time, returns the first instant after the gap. */
function instantOf(localTime: Temporal.PlainDateTime, zone: string): number {
  const earlierDateTime = localTime.toZonedDateTime(zone, { disambiguation: 'earlier' });
  if (earlierDateTime.toPlainDateTime().equals(localTime)) return earlierDateTime.epochMilliseconds;
  const transition = earlierDateTime.getTimeZoneTransition('next');
  if (!transition) throw new Error(`${zone} has no transition that skips ${localTime.toString()}.`);
  return transition.epochMilliseconds;
}

/** Returns the instants of the local times on the days that `isDue` accepts. */
function listInstants(
  zone: string,
  times: readonly Temporal.PlainTime[],
  isDue: (date: Temporal.PlainDate) => boolean,
): number[] {
  const instantSet = new Set<number>();
  for (let day = 0; day < DAY_COUNT; day += 1) {
    const date = FIRST_DATE.add({ days: day });
    if (isDue(date)) for (const time of times) instantSet.add(instantOf(date.toPlainDateTime(time), zone));
  }
  return [...instantSet].toSorted((a, b) => a - b);
}

/** Returns as many due times as expected, beginning with the first expected one. */
function computeDueTimes(schedule: Schedule, expected: readonly number[]): number[] {
  let previousMs = (expected[0] ?? 0) - 1;
  return expected.map(() => (previousMs = nextDueTime(schedule, previousMs) ?? NaN));
}

function transitionsOf(zone: string): Temporal.ZonedDateTime[] {
  const transitions: Temporal.ZonedDateTime[] = [];
  const endMs = FIRST_DATE.add({ days: DAY_COUNT }).toZonedDateTime(zone).epochMilliseconds;
  let nextTransition = FIRST_DATE.toZonedDateTime(zone).getTimeZoneTransition('next');
  while (nextTransition && nextTransition.epochMilliseconds < endMs) {
    transitions.push(nextTransition);
    nextTransition = nextTransition.getTimeZoneTransition('next');
  }
  return transitions;
}

const parseTime = (text: string): Temporal.PlainTime => Temporal.PlainTime.from(text);

describe('the due times of three years are those that the Temporal API of JavaScript calculates', () => {
  it.each(ZONES)('for daily, weekly and monthly schedules in %s', (timeZone) => {
    const cases: [cron: string, times: string[], isDue: (date: Temporal.PlainDate) => boolean][] = [
      ['30 2 * * *', ['02:30'], () => true],
      ['0 0 * * FRI,SUN', ['00:00'], (date) => date.dayOfWeek === 5 || date.dayOfWeek === 7],
      ['45 23 30 * *', ['23:45'], (date) => date.day === 30],
    ];
    for (const [cron, times, isDue] of cases) {
      const expected = listInstants(timeZone, times.map(parseTime), isDue);
      expect(computeDueTimes({ times: { cron }, timeZone }, expected), cron).toEqual(expected);
    }
  });

  it.each(ZONES)('for schedules with several times a day, around UTC offset changes in %s', (timeZone) => {
    const cron = '*/20 0-3,22-23 * * *';
    const hours = [0, 1, 2, 3, 22, 23];
    const times = hours.flatMap((hour) => [0, 20, 40].map((minute) => new Temporal.PlainTime(hour, minute)));
    for (const transition of transitionsOf(timeZone)) {
      const transitionDate = transition.toPlainDate();
      const isNear = (date: Temporal.PlainDate): boolean =>
        Math.abs(date.until(transitionDate).total('days')) <= 2;
      const expected = listInstants(timeZone, times, isNear);
      expect(computeDueTimes({ times: { cron }, timeZone }, expected), transition.toString()).toEqual(
        expected,
      );
    }
  });

  it.each(ZONES)('for hourly schedules, around UTC offset changes in %s', (timeZone) => {
    for (const transition of transitionsOf(timeZone)) {
      const transitionMs = transition.epochMilliseconds;
      const expected: number[] = [];
      for (
        let instantMs = transitionMs - DAY_MS;
        instantMs < transitionMs + DAY_MS;
        instantMs += 5 * 60_000
      ) {
        const localTime = Temporal.Instant.fromEpochMilliseconds(instantMs).toZonedDateTimeISO(timeZone);
        if (localTime.minute === 40) expected.push(instantMs);
      }
      const schedule: Schedule = { times: { cron: '40 * * * *' }, timeZone };
      expect(computeDueTimes(schedule, expected), transition.toString()).toEqual(expected);
    }
  });
});
