/** The times of a span. */
interface Times {
  relativeStartMs: number;
  /** null while it is open. */
  durationMs: number | null;
  childCount: number;
}

/** Places of times on a line from 0 to 1. */
export interface TimeScale {
  at(ms: number): number;
  width(span: Times): number;
  /** The idle time that the line leaves out. */
  collapsedMs: number;
}

/** Idle time takes at most this part of the time with work. */
const IDLE_SHARE = 0.04;
/** Smallest part of the line that can be seen. */
const LEAST = 0.002;

/** Returns the scale of spans. `nowMs`: the time since the start of the run, for spans that are open. Takes O(n log n). */
export function timeScale(spans: readonly Times[], nowMs: number): TimeScale {
  const busy = busyPeriods(spans, nowMs);
  const work = busy.reduce((sum, { from, to }) => sum + (to - from), 0);
  const most = Math.max(work * IDLE_SHARE, 1);
  let collapsedMs = 0;
  let before = 0;
  let shift = 0;
  const points = busy.map(({ from, to }) => {
    const gap = from - before;
    if (gap > most) {
      collapsedMs += gap - most;
      shift += gap - most;
    }
    before = to;
    return { from, to, shift };
  });
  const total = Math.max(before - shift, 1);
  const at = (ms: number): number => {
    const index = lastAt(points, ms);
    const point = points[index];
    const moved = point ? ms - point.shift : ms;
    // A time in a collapsed gap is where the next period begins.
    const next = points[index + 1];
    const limit = next ? next.from - next.shift : total;
    return Math.min(Math.max(Math.min(moved, limit), 0) / total, 1);
  };
  const width = (span: Times): number =>
    Math.max(
      at(span.relativeStartMs + (span.durationMs ?? nowMs - span.relativeStartMs)) - at(span.relativeStartMs),
      LEAST,
    );
  return { at, width, collapsedMs };
}

interface Period {
  from: number;
  to: number;
}

/** Returns the times in which blocks ran, without overlaps. */
function busyPeriods(spans: readonly Times[], nowMs: number): Period[] {
  const leaves = spans
    .filter(({ childCount }) => childCount === 0)
    .map(({ relativeStartMs: from, durationMs }) => ({
      from,
      to: from + (durationMs ?? Math.max(nowMs - from, 0)),
    }))
    .toSorted((a, b) => a.from - b.from);
  const periods: Period[] = [];
  for (const { from, to } of leaves) {
    const last = periods.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else periods.push({ from, to });
  }
  return periods;
}

/** Returns the index of the last period that begins at this time or before; -1 if there is none. */
function lastAt(points: readonly Period[], ms: number): number {
  let low = 0;
  let high = points.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.from ?? Infinity) <= ms) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
