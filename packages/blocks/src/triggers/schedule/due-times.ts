import { Cron } from 'croner';
import { instantOf, localTimeAt, offsetAt, transitionBetween } from './time-zone.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 3_600_000;
/** Within this span around a local time, a zone changes its offset at most once. */
const SPAN_MS = 1.5 * DAY_MS;

/** The instants at which something is due. Plain JSON. */
export interface Schedule {
  /** An interval in minutes of elapsed time, or the local times of a cron expression with five fields. */
  times: { everyMinutes: number } | { cron: string };
  /** The IANA time zone of the fields of `cron`. */
  timeZone: string;
  /** The earliest due time. Intervals count from it; without it, from 1970. */
  startMs?: number;
  /** The latest due time. */
  endMs?: number;
}

/**
 * Returns the first due time after `afterMs`, in milliseconds; undefined if there is none. A local time that is
 * skipped by summer time is due once, at the first instant after the gap; a repeated local time is due once, the first
 * time. A cron expression for every hour names no local time of day, so it is due in each hour that elapses.
 */
export function nextDueTime(schedule: Schedule, afterMs: number): number | undefined {
  const { times, timeZone, startMs, endMs = Infinity } = schedule;
  const fromMs = startMs === undefined ? afterMs : Math.max(afterMs, startMs - 1);
  const dueMs =
    'everyMinutes' in times
      ? nextIntervalTime(times.everyMinutes * MINUTE_MS, fromMs, startMs ?? 0)
      : nextCronTime(times.cron, timeZone, fromMs);
  return dueMs !== undefined && dueMs <= endMs ? dueMs : undefined;
}

/** Returns the last due time up to `untilMs` and after `afterMs`; undefined if there is none. */
export function lastDueTime(
  schedule: Schedule,
  { afterMs, untilMs }: { afterMs: number; untilMs: number },
): number | undefined {
  const first = nextDueTime(schedule, afterMs);
  if (first === undefined || first > untilMs) return undefined;
  // Usually at most one due time has passed, and a bisection computes dozens of them.
  const second = nextDueTime(schedule, first);
  if (second === undefined || second > untilMs) return first;
  // `nextDueTime` never decreases, so bisection finds the latest instant that is followed by a due time up to
  // `untilMs`.
  let [low, high, latest] = [second - 1, untilMs, second];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    const dueMs = nextDueTime(schedule, middle);
    if (dueMs !== undefined && dueMs <= untilMs) {
      low = dueMs - 1;
      latest = dueMs;
    } else high = middle;
  }
  return latest;
}

function nextIntervalTime(intervalMs: number, afterMs: number, anchorMs: number): number {
  return anchorMs + (Math.floor((afterMs - anchorMs) / intervalMs) + 1) * intervalMs;
}

function nextCronTime(expression: string, zone: string, afterMs: number): number | undefined {
  const nextLocalTime = localTimeFinder(expression);
  if (isEveryHour(expression)) return nextHourlyTime(nextLocalTime, zone, afterMs);
  let localMs = nextLocalTime(localTimeAt(zone, afterMs));
  while (localMs !== undefined) {
    const dueMs = instantOf(zone, localMs);
    // In the second pass of a repeated hour, `afterMs` may be later than the instant of the next local time.
    if (dueMs > afterMs) return dueMs;
    localMs = nextLocalTime(localMs);
  }
  return undefined;
}

/** Returns the first instant after `afterMs` whose local time matches; in a repeated hour, both passes match. */
function nextHourlyTime(nextLocalTime: NextLocalTime, zone: string, afterMs: number): number | undefined {
  let fromMs = afterMs;
  for (;;) {
    const offset = offsetAt(zone, fromMs);
    const localMs = nextLocalTime(fromMs + offset);
    if (localMs === undefined) return undefined;
    const dueMs = localMs - offset;
    const untilMs = Math.min(dueMs, fromMs + SPAN_MS);
    const transitionMs = transitionBetween(zone, fromMs, untilMs);
    if (transitionMs !== undefined) {
      const transitionLocalMs = localTimeAt(zone, transitionMs);
      if (nextLocalTime(transitionLocalMs - 1) === transitionLocalMs) return transitionMs;
      fromMs = transitionMs;
    } else if (untilMs === dueMs) {
      return dueMs;
    } else {
      // No local time in between matches, at any offset.
      fromMs = Math.max(untilMs, dueMs - SPAN_MS);
    }
  }
}

type NextLocalTime = (afterLocalMs: number) => number | undefined;

/**
 * Returns a function that finds the next local time of an expression. The library does not handle time zones here: it
 * gets local times as UTC.
 */
function localTimeFinder(expression: string): NextLocalTime {
  const cron = parseCron(expression);
  return (afterLocalMs) => cron.nextRun(new Date(afterLocalMs))?.getTime();
}

/** Returns the problem of a cron expression; undefined for a valid one. */
export function cronProblem(expression: string): string | undefined {
  try {
    parseCron(expression);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/^CronPattern: /, '');
  }
}

/**
 * Maximum number of cached parsed expressions. One takes 83 kB, so few are cached; others are parsed again for each due
 * time.
 */
const MAX_CACHED_EXPRESSIONS = 16;
const cache = new Map<string, Cron>();

function parseCron(expression: string): Cron {
  const cached = cache.get(expression);
  if (cached) return cached;
  const cron = new Cron(expandNickname(expression), { utcOffset: 0, mode: '5-part', paused: true });
  if (cache.size >= MAX_CACHED_EXPRESSIONS) cache.clear();
  cache.set(expression, cron);
  return cron;
}

const NICKNAMES: { readonly [name: string]: string } = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

function expandNickname(expression: string): string {
  const name = expression.trim().toLowerCase();
  return Object.hasOwn(NICKNAMES, name) ? (NICKNAMES[name] as string) : expression;
}

const EVERY_HOUR_FIELDS: ReadonlySet<string> = new Set(['*', '?', '*/1', '0-23']);

function isEveryHour(expression: string): boolean {
  return EVERY_HOUR_FIELDS.has(expandNickname(expression).trim().split(/\s+/)[1] ?? '');
}
