const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Maximum number of cached formats; a format takes about 40 kB. */
const MAX_FORMATS = 256;

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns the name of an IANA time zone, in its usual case unless it is an alias; undefined for an unknown zone. */
export function canonicalZoneName(name: string): string | undefined {
  try {
    const { timeZone } = new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions();
    // An alias is resolved to another name, which may be the older name: Asia/Kolkata to Asia/Calcutta.
    return timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name;
  } catch {
    return undefined;
  }
}

/** Maximum number of cached offsets. Schedules that are due together need the same offsets. */
const MAX_OFFSETS = 10_000;

const offsets = new Map<string, number>();

/** Returns how far the local time is ahead of UTC at an instant, in milliseconds. */
export function offsetAt(zone: string, atMs: number): number {
  const secondMs = Math.floor(atMs / 1000) * 1000;
  const key = `${secondMs} ${zone}`;
  const cached = offsets.get(key);
  if (cached !== undefined) return cached;
  if (offsets.size >= MAX_OFFSETS) offsets.clear();
  const offset = computeOffset(zone, secondMs);
  offsets.set(key, offset);
  return offset;
}

/** Returns the offset at a whole second, from the fields of the local time. */
function computeOffset(zone: string, secondMs: number): number {
  const match = /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+):(\d+)$/.exec(formatOf(zone).format(secondMs));
  if (!match) throw new RangeError(`The local time of ${zone} at ${secondMs} cannot be read.`);
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = match.slice(1).map(Number);
  return Date.UTC(year, month - 1, day, hour, minute, second) - secondMs;
}

/** Returns the local time at an instant, as the milliseconds that UTC would have for the same fields. */
export function localTimeAt(zone: string, atMs: number): number {
  return atMs + offsetAt(zone, atMs);
}

/**
 * Returns the instant of a local time. A skipped local time has the first instant after the gap; a repeated local time
 * has its first instant. Later local times never have earlier instants.
 */
export function instantOf(zone: string, localMs: number): number {
  // No zone is a day or more from UTC, and none changes its offset twice in two days.
  const offsetBefore = offsetAt(zone, localMs - DAY_MS);
  const offsetAfter = offsetAt(zone, localMs + DAY_MS);
  const [instantBefore, instantAfter] = [localMs - offsetBefore, localMs - offsetAfter];
  if (offsetBefore === offsetAfter) return instantBefore;
  const candidates = [instantBefore, instantAfter].filter((atMs) => localTimeAt(zone, atMs) === localMs);
  if (candidates.length > 0) return Math.min(...candidates);
  return transitionBetween(zone, instantAfter, instantBefore) ?? instantBefore;
}

/**
 * Returns the first instant in (`fromMs`, `toMs`] at which the offset differs from that at `fromMs`; undefined if the
 * offsets of both are equal. The span must have at most one change of the offset.
 */
export function transitionBetween(zone: string, fromMs: number, toMs: number): number | undefined {
  const offsetBefore = offsetAt(zone, fromMs);
  if (offsetAt(zone, toMs) === offsetBefore) return undefined;
  let [low, high] = [fromMs, toMs];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(zone, middle) === offsetBefore) low = middle;
    else high = middle;
  }
  return high;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const cached = formats.get(zone);
  if (cached) return cached;
  if (formats.size >= MAX_FORMATS) formats.clear();
  const numeric = 'numeric';
  const format = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone: zone, hourCycle: 'h23', calendar: 'gregory', numberingSystem: 'latn' },
    ...{ year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric },
  });
  formats.set(zone, format);
  return format;
}
