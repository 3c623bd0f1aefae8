import type { Clock } from '@heddle/core';
import {
  LIVE_PRUNE_INTERVAL_MS,
  LIVE_RETENTION_MS,
  LiveEventWatchers,
  MAX_LIVE_CHARS,
  MAX_LIVE_EVENTS,
} from './live-events.ts';
import type { LiveEvent, LiveEventStore, NewLiveEvent } from './live-events.ts';

interface Stream {
  events: LiveEvent[];
  lastNumber: number;
  /** Characters of the stored events. */
  charCount: number;
  /** Time of the last publication. */
  publishedMs: number;
}

/** Live events in memory. */
export class MemoryLiveEvents implements LiveEventStore {
  readonly batchMs = 0;
  readonly #clock: Clock;
  readonly #streams = new Map<string, Stream>();
  readonly #watchers = new LiveEventWatchers();
  #lastPruneMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lastPruneMs = clock.now();
  }

  publish(runId: string, events: readonly NewLiveEvent[]): number {
    const nowMs = this.#clock.now();
    this.#prune(nowMs);
    const stream = this.#streams.get(runId) ?? {
      events: [],
      lastNumber: 0,
      charCount: 0,
      publishedMs: nowMs,
    };
    this.#streams.set(runId, stream);
    stream.publishedMs = nowMs;
    for (const event of events) {
      stream.events.push({ ...event, number: (stream.lastNumber += 1) });
      stream.charCount += event.json.length;
    }
    removeOldest(stream);
    this.#watchers.wake(runId);
    return stream.lastNumber;
  }

  read(runId: string, afterNumber: number, limit: number): LiveEvent[] {
    const { events = [] } = this.#streams.get(runId) ?? {};
    const firstNumber = events[0]?.number ?? 1;
    const start = Math.max(0, afterNumber + 1 - firstNumber);
    return events.slice(start, start + limit);
  }

  places(runId: string): string[] {
    return [...new Set(this.#streams.get(runId)?.events.map(({ place }) => place))];
  }

  lastNumber(runId: string): number {
    return this.#streams.get(runId)?.lastNumber ?? 0;
  }

  remove(runId: string): void {
    this.#streams.delete(runId);
  }

  watch(runId: string, wake: () => void): () => void {
    return this.#watchers.add(runId, wake);
  }

  #prune(nowMs: number): void {
    if (nowMs - this.#lastPruneMs < LIVE_PRUNE_INTERVAL_MS) return;
    this.#lastPruneMs = nowMs;
    for (const [runId, { publishedMs }] of this.#streams)
      if (publishedMs < nowMs - LIVE_RETENTION_MS) this.#streams.delete(runId);
  }
}

/** Frees a tenth of an exceeded limit at a time, because each removal moves the remaining events. */
function removeOldest(stream: Stream): void {
  const { events } = stream;
  if (events.length <= MAX_LIVE_EVENTS && stream.charCount <= MAX_LIVE_CHARS) return;
  let removedCount = 0;
  while (
    removedCount < events.length - 1 &&
    (events.length - removedCount > MAX_LIVE_EVENTS * 0.9 || stream.charCount > MAX_LIVE_CHARS * 0.9)
  ) {
    stream.charCount -= events[removedCount]?.json.length ?? 0;
    removedCount += 1;
  }
  events.splice(0, removedCount);
}
