import type { Event, TimerName } from '@heddle/core/machine';
import type { EncodedEvent } from './messages.ts';

type Of<T extends Event['type']> = Extract<Event, { type: T }>;

/** Encoders of the events that activities produce. An undefined field is `null`, and trailing ones are left out. */
const ENCODERS: {
  [T in 'completed' | 'failed' | 'expanded' | 'paused' | 'fired']: (event: Of<T>) => EncodedEvent;
} = {
  completed: ({ at, atMs, attempt, port }) =>
    port === undefined ? ['c', at, atMs, attempt] : ['c', at, atMs, attempt, port],
  failed: ({ at, atMs, attempt, retryable, iteration = null, retryAfterMs = null, jitter = null }) =>
    trimmed(['f', at, atMs, attempt, retryable, iteration, retryAfterMs, jitter]),
  expanded: ({ at, atMs, iteration, count }) => ['e', at, atMs, iteration, count],
  paused: ({ at, atMs, attempt, kind, dueMs = null }) => ['p', at, atMs, attempt, kind, dueMs],
  fired: ({ at, atMs, timer, attempt = null }) => trimmed(['t', at, atMs, timer, attempt]),
};

/** `event` in compact form, with the token hash of the pause point that it opens. Throws for events that activities never produce. */
export function encodeEvent(event: Event, tokenHash?: string): EncodedEvent {
  const encoder = ENCODERS[event.type as keyof typeof ENCODERS] as
    | ((event: Event) => EncodedEvent)
    | undefined;
  if (!encoder) throw new TypeError(`activities produce no event of type ${event.type}`);
  const encoded = encoder(event);
  if (encoded[0] === 'p' && tokenHash !== undefined) encoded.push(tokenHash);
  return trimmed(encoded);
}

/** Removes trailing nulls. */
function trimmed(encoded: EncodedEvent): EncodedEvent {
  while (encoded[encoded.length - 1] === null) (encoded as unknown[]).pop();
  return encoded;
}

/** The event that `encodeEvent` encoded. */
export function decodeEvent(encoded: EncodedEvent): Event {
  const [type, at, atMs] = encoded;
  switch (type) {
    case 'c':
      return {
        type: 'completed',
        at,
        atMs,
        attempt: encoded[3],
        ...(encoded[4] !== undefined && { port: encoded[4] }),
      };
    case 'f':
      return {
        type: 'failed',
        at,
        atMs,
        attempt: encoded[3],
        retryable: encoded[4],
        ...(encoded[5] != null && { iteration: encoded[5] }),
        ...(encoded[6] != null && { retryAfterMs: encoded[6] }),
        ...(encoded[7] != null && { jitter: encoded[7] }),
      };
    case 'e':
      return { type: 'expanded', at, atMs, iteration: encoded[3], count: encoded[4] };
    case 'p':
      return {
        type: 'paused',
        at,
        atMs,
        attempt: encoded[3],
        kind: encoded[4],
        ...(encoded[5] != null && { dueMs: encoded[5] }),
      };
    case 't':
      return {
        type: 'fired',
        at,
        atMs,
        timer: encoded[3] as TimerName,
        ...(encoded[4] != null && { attempt: encoded[4] }),
      };
  }
}

/** Token hash of the pause point that the event opens, if any. */
export function tokenHashOf(encoded: EncodedEvent): string | undefined {
  return encoded[0] === 'p' ? (encoded[6] ?? undefined) : undefined;
}
