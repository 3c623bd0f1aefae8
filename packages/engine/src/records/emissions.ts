import type { BlockEmission, Clock } from '@heddle/core/blocks';
import { placeKey } from '@heddle/core/run';
import type { Place, RunState } from '@heddle/core/run';
import { mapMaybePromise } from '../map-maybe-promise.ts';
import type { Sanitizer } from './sanitizer.ts';
import type { RedactionStream } from '../secrets/redaction-stream.ts';
import type { LiveEventStore, NewLiveEvent } from '../store/live-events.ts';
import type { RunEvent } from '../types.ts';

/** Maximum length of the text of an event. A longer text is published in several events. */
export const MAX_EMITTED_CHARS = 16_384;
/** Longer ids and names of tools are truncated. */
const MAX_NAME_CHARS = 200;
/** Maximum number of emissions that wait for a slow store; further ones are dropped. */
const MAX_QUEUED_EMISSIONS = 2000;
/** Maximum time for which the result of a block waits until its events are published. */
const FLUSH_TIMEOUT_MS = 1000;

const LOST_MESSAGE = 'Some events of this block were lost, because they could not be stored in time.';

/** An emission of a block, as JSON in the store of live events. */
export interface StoredEmission extends Place {
  /** Number of the journal's last entry at the time of the emission. */
  seq: number;
  atMs: number;
  emission: BlockEmission;
}

/** An emission that waits to be published. */
interface QueuedEmission {
  place: Place;
  key: string;
  /** Number of the journal's last entry at the time of the emission. */
  seq: number;
  /** True for the first emission of an attempt. */
  isFirst: boolean;
  atMs: number;
  emission: BlockEmission;
}

type TextEmission = Extract<BlockEmission, { text: string }>;

/** An attempt that has emitted and not ended. */
interface OpenAttempt extends Omit<QueuedEmission, 'emission'> {
  /** Streams of its text, by type. The end of a text is held back while it may be part of a secret. */
  streams: Map<TextEmission['type'], RedactionStream>;
}

interface EmissionsOptions {
  runState: RunState;
  store: LiveEventStore;
  clock: Clock;
  sanitizer: Pick<Sanitizer, 'redactJson' | 'createStream'>;
  /** True: no other process has published events of the run. */
  isNew: boolean;
  /** Receives the events of this process in the form for listeners. */
  onPublished?(event: Extract<RunEvent, { type: 'block:emission' }>): void;
  onError(error: unknown): void;
}

/**
 * Publishes the emissions of a run's blocks in this process, without secrets. The first emission is published
 * immediately; later ones are collected for a few milliseconds. The last word of a text in a run with secrets is
 * published with the text that follows, because it may be the beginning of a secret. If a block is attempted again,
 * an event first discards the emissions of the earlier attempt. A slow or failing store does not stop the run: events
 * are lost, and another event reports the loss.
 */
export class Emissions {
  readonly #options: EmissionsOptions;
  readonly #attempts = new Map<string, OpenAttempt>();
  #queue: QueuedEmission[] = [];
  /** Places with published events; undefined: not read yet. */
  #places: Set<string> | undefined;
  #publishing: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #lostPlace: Place | undefined;
  #hasFailed = false;
  #hasReportedError = false;
  #isStopped = false;

  constructor(options: EmissionsOptions) {
    this.#options = options;
    if (options.isNew) this.#places = new Set();
  }

  /**
   * Publishes an emission of the attempt at `place`. `isFirst`: it is the first one of the attempt. Emissions after the
   * attempt's end are dropped. Throws BLOCK_FAILED if the emission is not JSON.
   */
  add(place: Place, emission: BlockEmission, isFirst: boolean): void {
    const { runState, clock } = this.#options;
    const isText = emission.type === 'text' || emission.type === 'thinking';
    const redactedEmission = isText ? undefined : this.#redact(emission);
    const key = placeKey(place);
    const existingAttempt = isFirst ? undefined : this.#attempts.get(key);
    if (!isFirst && !existingAttempt) return;
    const emittedAt = { seq: runState.seq, atMs: clock.now() };
    const attempt = existingAttempt ?? { place, key, isFirst, ...emittedAt, streams: new Map() };
    this.#attempts.set(key, Object.assign(attempt, emittedAt));
    if (redactedEmission) this.#enqueue(attempt, redactedEmission);
    else if (isText) this.#addText(attempt, emission);
    this.#publishSoon();
  }

  /**
   * Publishes the held-back text of the attempt at `place`, which has ended. `isInterrupted`: its texts are incomplete
   * and may end in the beginning of a secret. Returns false if the attempt has emitted nothing.
   */
  end(place: Place, options: { isInterrupted: boolean }): boolean {
    const key = placeKey(place);
    const attempt = this.#attempts.get(key);
    if (!attempt) return false;
    this.#attempts.delete(key);
    for (const [type, stream] of attempt.streams) this.#enqueue(attempt, { type, text: stream.end(options) });
    this.#publishSoon();
    return true;
  }

  /**
   * Resolves when all emissions so far are published, or after a second. Returns undefined if all are already
   * published, or if the store fails.
   */
  flush(): Promise<void> | undefined {
    if (this.#queue.length === 0 && !this.#publishing) return undefined;
    if (!this.#publishing) this.#publish();
    if (!this.#publishing || this.#hasFailed) return undefined;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, FLUSH_TIMEOUT_MS)));
    return Promise.race([this.#publishAll(), timeout]).finally(() => clearTimeout(timer));
  }

  /** Stops publishing. */
  stop(): void {
    this.#isStopped = true;
    this.#attempts.clear();
    this.#queue = [];
    clearTimeout(this.#timer);
  }

  #redact(emission: BlockEmission): BlockEmission {
    return this.#options.sanitizer.redactJson(emission, 'The emission of a block') as BlockEmission;
  }

  #addText(attempt: OpenAttempt, { type, text }: TextEmission): void {
    const stream = attempt.streams.get(type) ?? this.#options.sanitizer.createStream();
    attempt.streams.set(type, stream);
    this.#enqueue(attempt, { type, text: stream.push(text) });
  }

  /** Queues an emission whose secrets are redacted. */
  #enqueue(attempt: OpenAttempt, emission: BlockEmission): void {
    const { streams, ...queuedFields } = attempt;
    if (emission.type === 'reset') streams.delete('text');
    for (const part of splitEmission(emission)) {
      if (this.#queue.length >= MAX_QUEUED_EMISSIONS) {
        this.#lostPlace = attempt.place;
        return;
      }
      this.#queue.push({ ...queuedFields, isFirst: attempt.isFirst, emission: part });
      attempt.isFirst = false;
    }
  }

  #publishSoon(): void {
    if (!this.#publishing && !this.#timer) this.#publish();
  }

  async #publishAll(): Promise<void> {
    while (this.#publishing || this.#queue.length > 0) {
      if (!this.#publishing) this.#publish();
      await this.#publishing;
    }
  }

  /** Publishes the queued emissions. Never throws. */
  #publish(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#queue;
    this.#queue = [];
    if (batch.length === 0) return;
    try {
      const result = mapMaybePromise(this.#loadPlaces(), (places) => this.#send(batch, places));
      if (result instanceof Promise)
        this.#publishing = result
          .catch((error: unknown) => this.#fail(error, batch))
          .finally(() => {
            this.#publishing = undefined;
            this.#startBatchTimer();
          });
    } catch (error) {
      this.#fail(error, batch);
    }
    this.#startBatchTimer();
  }

  /** Starts the timer that publishes further emissions, by the system clock even if the run uses another clock. */
  #startBatchTimer(): void {
    const { batchMs } = this.#options.store;
    if (batchMs === 0 || this.#publishing || this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#publish(), batchMs);
    this.#timer.unref();
  }

  #loadPlaces(): Set<string> | Promise<Set<string>> {
    if (this.#places) return this.#places;
    const { store, runState } = this.#options;
    return mapMaybePromise(store.places(runState.runId), (places) => (this.#places = new Set(places)));
  }

  #send(batch: readonly QueuedEmission[], places: Set<string>): void | Promise<void> {
    const { store, runState } = this.#options;
    const events = batch.flatMap((queuedEmission) => {
      const isRepeated =
        queuedEmission.isFirst && places.has(queuedEmission.key) && queuedEmission.emission.type !== 'reset';
      places.add(queuedEmission.key);
      return isRepeated
        ? [{ ...queuedEmission, emission: { type: 'reset' } as const }, queuedEmission]
        : [queuedEmission];
    });
    const [oldest] = events;
    const lostPlace = this.#lostPlace;
    this.#lostPlace = undefined;
    if (lostPlace && oldest)
      events.unshift({
        ...oldest,
        place: lostPlace,
        key: placeKey(lostPlace),
        emission: { type: 'error', message: LOST_MESSAGE },
      });
    return mapMaybePromise(store.publish(runState.runId, events.map(toLiveEvent)), (lastNumber) => {
      this.#hasFailed = false;
      this.#notify(events, lastNumber);
    });
  }

  #notify(events: readonly QueuedEmission[], lastNumber: number): void {
    const { runState } = this.#options;
    for (const [index, { place, atMs, emission }] of events.entries()) {
      const { block, scope } = place;
      const number = lastNumber - events.length + 1 + index;
      this.#options.onPublished?.(emissionEvent(runState, number, { block, scope, atMs, emission }));
    }
  }

  #fail(error: unknown, batch: readonly QueuedEmission[]): void {
    this.#hasFailed = true;
    this.#lostPlace = batch.at(-1)?.place;
    if (this.#hasReportedError || this.#isStopped) return;
    this.#hasReportedError = true;
    this.#options.onError(error);
  }
}

function toLiveEvent({ place, key, seq, atMs, emission }: QueuedEmission): NewLiveEvent {
  const { block, scope } = place;
  const storedEmission: StoredEmission = { block, scope, seq, atMs, emission };
  return { place: key, json: JSON.stringify(storedEmission) };
}

/** Returns the event of an emission in the form for listeners. */
export function emissionEvent(
  { runId, plan }: Pick<RunState, 'runId' | 'plan'>,
  number: number,
  { block, scope, atMs, emission }: Omit<StoredEmission, 'seq'>,
): Extract<RunEvent, { type: 'block:emission' }> {
  const blockName = plan.blocks[block]?.name ?? block;
  return {
    type: 'block:emission',
    runId,
    atMs,
    number,
    blockId: block,
    blockName,
    scope: [...scope],
    emission,
  };
}

/** Returns the emission in parts of limited size. */
function splitEmission(emission: BlockEmission): BlockEmission[] {
  switch (emission.type) {
    case 'text':
    case 'thinking':
      return chunksOf(emission.text).map((text) => ({ ...emission, text }));
    case 'tool': {
      const { id, name } = emission;
      return [{ ...emission, id: truncate(id, MAX_NAME_CHARS), name: truncate(name, MAX_NAME_CHARS) }];
    }
    case 'progress': {
      const { id, message } = emission;
      const truncatedMessage = message === undefined ? {} : { message: truncate(message, MAX_EMITTED_CHARS) };
      return [{ ...emission, id: truncate(id, MAX_NAME_CHARS), ...truncatedMessage }];
    }
    case 'error':
      return [{ ...emission, message: truncate(emission.message, MAX_EMITTED_CHARS) }];
    default:
      return [emission];
  }
}

/** Splits the text between characters. An empty text has no parts. */
function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  for (let remaining = text; remaining !== '';) {
    const chunk = truncate(remaining, MAX_EMITTED_CHARS);
    chunks.push(chunk);
    remaining = remaining.slice(chunk.length);
  }
  return chunks;
}

/** Returns the first `maxChars` UTF-16 units of the text, without a lone surrogate at the end. */
function truncate(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const splitsPair = /[\uD800-\uDBFF]/.test(text.charAt(maxChars - 1));
  return text.slice(0, splitsPair ? maxChars - 1 : maxChars);
}
