import type { TriggerProblem } from '@heddle/core/drafts';
import type { JsonObject } from '@heddle/core/blocks';
import type { SchedulePolicy } from '@heddle/engine/triggers';
import * as z from 'zod';
import { nonEmptyFields, enumField, problemsOf, integerField } from '../read-fields.ts';
import { cronProblem, nextDueTime } from './due-times.ts';
import type { Schedule } from './due-times.ts';
import { canonicalZoneName, instantOf } from './time-zone.ts';

/** Maximum interval: a year. */
const MAX_INTERVAL_MINUTES = 525_600;
const MAX_JITTER_SECONDS = 3600;
const MAX_MISSED_RUNS = 100;
const MAX_CRON_CHARACTERS = 256;

// The errors of fields complete the message `is not …`.
const TIME_ERROR = 'a time of day such as 09:30';
const time = z
  .string({ error: TIME_ERROR })
  .trim()
  .regex(/^([01]?\d|2[0-3]):[0-5]\d$/, { error: TIME_ERROR });

const DAYS: ReadonlySet<string> = new Set(
  ['SUNDAY', 'MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY'].flatMap((day) => [
    day,
    day.slice(0, 3),
  ]),
);
const DAY_ERROR = 'a day of the week such as MON, or several as MON,WED';
const days = z
  .string({ error: DAY_ERROR })
  .transform((text) => text.split(',').map((day) => day.trim().toUpperCase()))
  .refine((list) => list.every((day) => DAYS.has(day)), { error: DAY_ERROR });

const CRON_ERROR = 'a cron expression with five fields, such as 0 9 * * 1-5';
const cron = z
  .string({ error: CRON_ERROR })
  .trim()
  .min(1, { error: CRON_ERROR })
  .max(MAX_CRON_CHARACTERS, { error: `${CRON_ERROR}, of at most ${MAX_CRON_CHARACTERS} characters` })
  .superRefine((text, context) => {
    const problem = cronProblem(text);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: `${CRON_ERROR}: ${problem}` });
  });

const zone = z
  .string({ error: 'a time zone such as Europe/Berlin' })
  .trim()
  .transform((name, context) => {
    const timeZone = canonicalZoneName(name);
    if (timeZone === undefined)
      context.addIssue({ code: 'custom', message: 'a time zone such as Europe/Berlin' });
    return timeZone ?? 'UTC';
  });

const DATE_TIME_ERROR = 'a date, with or without a time, such as 2026-03-01 or 2026-03-01T09:00';
const dateTime = z
  .string({ error: DATE_TIME_ERROR })
  .trim()
  .regex(/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(\.\d{1,3})?(Z|[+-]\d\d:\d\d)?)?$/, { error: DATE_TIME_ERROR })
  .refine((text) => !Number.isNaN(Date.parse(text)), { error: DATE_TIME_ERROR });

/** The fields of a schedule. */
export const scheduleFields = z.object({
  scheduleType: enumField(['minutes', 'hourly', 'daily', 'weekly', 'monthly', 'custom', 'cron'])
    .default('daily')
    .describe(
      'The kind of schedule: minutes, hourly, daily, weekly, monthly, or cron (also custom). Default: daily.',
    ),
  minutesInterval: integerField(1, MAX_INTERVAL_MINUTES)
    .optional()
    .describe('For minutes: the number of minutes between two runs, from 1 to 525,600.'),
  hourlyMinute: integerField(0, 59).optional().describe('For hourly: the minute of each hour, from 0 to 59.'),
  dailyTime: time.optional().describe('For daily: the local time, HH:MM.'),
  weeklyDay: days
    .optional()
    .describe('For weekly: the day, MON to SUN, or several days separated by commas.'),
  weeklyDayTime: time.optional().describe('For weekly: the local time, HH:MM.'),
  monthlyDay: integerField(1, 31)
    .optional()
    .describe('For monthly: the day, from 1 to 31. Months without this day have no run.'),
  monthlyTime: time.optional().describe('For monthly: the local time, HH:MM.'),
  cronExpression: cron
    .optional()
    .describe('For cron: minute, hour, day of the month, month, day of the week.'),
  timezone: zone
    .default('UTC')
    .describe('The time zone of the local times, such as Europe/Berlin. Default: UTC.'),
  startsAt: dateTime
    .optional()
    .describe('No run is due before this date or time. Without an offset, it is a local time.'),
  endsAt: dateTime.optional().describe('No run is due after this date or time.'),
  jitterSeconds: integerField(0, MAX_JITTER_SECONDS)
    .default(0)
    .describe('Maximum delay of a run in seconds, up to 3,600. Each schedule has its own constant delay.'),
  missedRuns: enumField(['none', 'last', 'all'])
    .default('last')
    .describe(
      'Which runs are started later if nothing could start them when they were due: none, the last one (default), or all.',
    ),
  missedLimit: integerField(1, MAX_MISSED_RUNS)
    .default(10)
    .describe(
      'For missedRuns all: the maximum number of missed runs that are started, up to 100. The latest ones are started. Default: 10.',
    ),
  overlap: enumField(['allow', 'skip', 'queue'])
    .default('allow')
    .describe(
      'What happens while the previous run has not ended: allow starts the next run (default), skip does not start it, queue starts one run when the previous run has ended.',
    ),
});

type Fields = z.output<typeof scheduleFields>;

/** A schedule as it is stored. */
export type ScheduleConfig = Schedule & SchedulePolicy;

/** The fields that each kind needs. */
const REQUIRED_FIELDS: { readonly [kind in Fields['scheduleType']]: readonly (keyof Fields)[] } = {
  minutes: ['minutesInterval'],
  hourly: ['hourlyMinute'],
  daily: ['dailyTime'],
  weekly: ['weeklyDay', 'weeklyDayTime'],
  monthly: ['monthlyDay', 'monthlyTime'],
  custom: ['cronExpression'],
  cron: ['cronExpression'],
};

/** Returns the schedule that the fields of a block describe, or all problems. Fields of other kinds are ignored. */
export function parseScheduleConfig(
  block: JsonObject,
): { config: ScheduleConfig } | { problems: readonly TriggerProblem[] } {
  const fields = nonEmptyFields(block);
  const { scheduleType: kind = 'daily' } = fields;
  const requiredFields =
    typeof kind === 'string' && Object.hasOwn(REQUIRED_FIELDS, kind) ? REQUIRED_FIELDS[kind as 'daily'] : [];
  const kindFields = new Set<string>(Object.values(REQUIRED_FIELDS).flat());
  const values = Object.fromEntries(
    Object.entries(fields).filter(
      ([name]) => !kindFields.has(name) || requiredFields.includes(name as 'dailyTime'),
    ),
  );
  const parsed = scheduleFields.safeParse(values);
  if (!parsed.success) return { problems: problemsOf(parsed.error) };
  const missingFields = requiredFields.filter((name) => parsed.data[name] === undefined);
  if (missingFields.length > 0)
    return {
      problems: missingFields.map((field) => ({
        field,
        message: `is empty, and ${parsed.data.scheduleType} needs it`,
      })),
    };
  return configOf(parsed.data);
}

function configOf(fields: Fields): { config: ScheduleConfig } | { problems: TriggerProblem[] } {
  const { timezone: timeZone, startsAt, endsAt } = fields;
  const schedule: Schedule = {
    times: timesOf(fields),
    timeZone,
    ...(startsAt !== undefined && { startMs: parseDateTime(startsAt, timeZone) }),
    ...(endsAt !== undefined && { endMs: parseDateTime(endsAt, timeZone) }),
  };
  const { startMs = -Infinity, endMs = Infinity } = schedule;
  if (endMs < startMs) return { problems: [{ field: 'endsAt', message: 'is before startsAt' }] };
  if (nextDueTime(schedule, schedule.startMs === undefined ? 0 : startMs - 1) === undefined) {
    const field = endsAt === undefined ? 'cronExpression' : 'endsAt';
    return { problems: [{ field, message: 'leaves no time at which the schedule is due' }] };
  }
  const { jitterSeconds, missedRuns: missed, missedLimit, overlap } = fields;
  return { config: { ...schedule, jitterMs: jitterSeconds * 1000, missed, missedLimit, overlap } };
}

function timesOf(fields: Fields): Schedule['times'] {
  const { minutesInterval = 1, hourlyMinute, weeklyDay = [], monthlyDay, cronExpression = '' } = fields;
  switch (fields.scheduleType) {
    case 'minutes':
      return { everyMinutes: minutesInterval };
    case 'hourly':
      return { cron: `${hourlyMinute} * * * *` };
    case 'daily':
      return { cron: `${cronTimeOf(fields.dailyTime)} * * *` };
    case 'weekly':
      return {
        cron: `${cronTimeOf(fields.weeklyDayTime)} * * ${weeklyDay.map((day) => day.slice(0, 3)).join(',')}`,
      };
    case 'monthly':
      return { cron: `${cronTimeOf(fields.monthlyTime)} ${monthlyDay} * *` };
    case 'custom':
    case 'cron':
      return { cron: cronExpression };
  }
}

/** Returns the minute and the hour of a cron expression for a time of day. */
function cronTimeOf(text = ''): string {
  const [hour, minute] = text.split(':').map(Number);
  return `${minute} ${hour}`;
}

/** Returns the instant of a date or time, which is local unless it has an offset. */
function parseDateTime(text: string, timeZone: string): number {
  const isInstant = /(Z|[+-]\d\d:\d\d)$/.test(text) && text.includes('T');
  if (isInstant) return Date.parse(text);
  return instantOf(timeZone, Date.parse(text.includes('T') ? `${text}Z` : text));
}
