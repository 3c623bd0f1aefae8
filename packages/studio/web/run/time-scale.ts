/** The start and the duration of a span. */
interface SpanTiming {
  relativeStartMs: number;
  /** Null while the span is open (has not ended). */
  durationMs: number | null;
  /** Number of child spans. A span without children counts as busy time. */
  childCount: number;
}

/** Maps times to positions on an axis from 0 to 1. Long idle periods are shortened. */
export interface TimeScale {
  /** Returns the position of a time since the start of the run. */
  positionAt(ms: number): number;
  /** Returns the width of a span on the axis. */
  widthOf(span: SpanTiming): number;
  /** Total idle time that the axis skips. */
  collapsedMs: number;
}

/** Maximum length of each idle period on the axis, as a fraction of the total busy time. */
const MAX_GAP_SHARE = 0.04;
/** Minimum width of a span on the axis: a narrower one would be invisible. */
const MIN_WIDTH = 0.002;

/**
 * Returns a time scale for the spans. `elapsedMs`: the time since the start of the run, at which open spans end on the
 * axis. Takes O(n log n).
 */
export function createTimeScale(spans: readonly SpanTiming[], elapsedMs: number): TimeScale {
  const periods = busyPeriodsOf(spans, elapsedMs);
  const busyMs = periods.reduce((sum, { from, to }) => sum + (to - from), 0);
  const maxGapMs = Math.max(busyMs * MAX_GAP_SHARE, 1);
  let collapsedMs = 0;
  let previousEnd = 0;
  const scaledPeriods = periods.map(({ from, to }) => {
    const gapMs = from - previousEnd;
    if (gapMs > maxGapMs) collapsedMs += gapMs - maxGapMs;
    previousEnd = to;
    return { from, to, collapsedBeforeMs: collapsedMs };
  });
  const totalMs = Math.max(previousEnd - collapsedMs, 1);
  const positionAt = (ms: number): number => {
    const index = periodIndexAt(scaledPeriods, ms);
    const period = scaledPeriods[index];
    const shiftedMs = period ? ms - period.collapsedBeforeMs : ms;
    // A time in a collapsed gap is placed at the start of the next period at the latest.
    const nextPeriod = scaledPeriods[index + 1];
    const limit = nextPeriod ? nextPeriod.from - nextPeriod.collapsedBeforeMs : totalMs;
    return Math.min(Math.max(Math.min(shiftedMs, limit), 0) / totalMs, 1);
  };
  const widthOf = (span: SpanTiming): number =>
    Math.max(
      positionAt(span.relativeStartMs + (span.durationMs ?? elapsedMs - span.relativeStartMs)) -
        positionAt(span.relativeStartMs),
      MIN_WIDTH,
    );
  return { positionAt, widthOf, collapsedMs };
}

interface Period {
  from: number;
  to: number;
}

/** Returns the periods in which blocks ran, in order and without overlaps. */
function busyPeriodsOf(spans: readonly SpanTiming[], elapsedMs: number): Period[] {
  const leafPeriods = spans
    .filter(({ childCount }) => childCount === 0)
    .map(({ relativeStartMs: from, durationMs }) => ({
      from,
      to: from + (durationMs ?? Math.max(elapsedMs - from, 0)),
    }))
    .toSorted((a, b) => a.from - b.from);
  const periods: Period[] = [];
  for (const { from, to } of leafPeriods) {
    const lastPeriod = periods.at(-1);
    if (lastPeriod && from <= lastPeriod.to) lastPeriod.to = Math.max(lastPeriod.to, to);
    else periods.push({ from, to });
  }
  return periods;
}

/** Returns the index of the last period that begins at this time or before; -1 if there is none. */
function periodIndexAt(scaledPeriods: readonly Period[], ms: number): number {
  let low = 0;
  let high = scaledPeriods.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((scaledPeriods[middle]?.from ?? Infinity) <= ms) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
