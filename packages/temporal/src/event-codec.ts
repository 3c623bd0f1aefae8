import type { Event, TimerName } from '@heddle/core/machine';
import type { EncodedEvent } from './messages.ts';

type EventOf<T extends Event['type']> = Extract<Event, { type: T }>;

/** Encoders of the events that activities produce. An undefined field is `null`; trailing nulls are omitted. */
const ENCODERS: {
  [T in 'completed' | 'failed' | 'expanded' | 'paused' | 'fired']: (event: EventOf<T>) => EncodedEvent;
} = {
  completed: ({ at, atMs, attempt, port = null, resumes = null }) => ['c', at, atMs, attempt, port, resumes],
  failed: ({
    at,
    atMs,
    attempt,
    retryable,
    iteration = null,
    retryAfterMs = null,
    jitter = null,
    resumes = null,
  }) => removeTrailingNulls(['f', at, atMs, attempt, retryable, iteration, retryAfterMs, jitter, resumes]),
  expanded: ({ at, atMs, iteration, count }) => ['e', at, atMs, iteration, count],
  paused: ({ at, atMs, attempt, kind, dueMs = null }) => ['p', at, atMs, attempt, kind, dueMs],
  fired: ({ at, atMs, timer, attempt = null }) => removeTrailingNulls(['t', at, atMs, timer, attempt]),
};

/**
 * Returns `event` in compact form, with the token hash of the pause point that it opens. Throws for events that
 * activities never produce.
 */
export function encodeEvent(event: Event, tokenHash?: string): EncodedEvent {
  const encoder = ENCODERS[event.type as keyof typeof ENCODERS] as
    | ((event: Event) => EncodedEvent)
    | undefined;
  if (!encoder) throw new TypeError(`activities produce no event of type ${event.type}`);
  const encoded = encoder(event);
  if (event.type === 'paused' && encoded[0] === 'p') {
    const { resumes = null, continues } = event;
    encoded.push(tokenHash ?? null, resumes, continues ? 1 : null);
  }
  return removeTrailingNulls(encoded);
}

/** Removes trailing nulls. */
function removeTrailingNulls(encoded: EncodedEvent): EncodedEvent {
  while (encoded[encoded.length - 1] === null) (encoded as unknown[]).pop();
  return encoded;
}

/** Returns the event that `encodeEvent` encoded. */
export function decodeEvent(encoded: EncodedEvent): Event {
  const [type, at, atMs] = encoded;
  switch (type) {
    case 'c':
      return decodeCompleted(encoded);
    case 'f':
      return decodeFailed(encoded);
    case 'e':
      return { type: 'expanded', at, atMs, iteration: encoded[3], count: encoded[4] };
    case 'p':
      return decodePaused(encoded);
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

type EncodedEventOf<T extends EncodedEvent[0]> = Extract<EncodedEvent, [T, ...unknown[]]>;

function decodeCompleted([, at, atMs, attempt, port, resumes]: EncodedEventOf<'c'>): Event {
  return {
    type: 'completed',
    at,
    atMs,
    attempt,
    ...(resumes != null && { resumes }),
    ...(port != null && { port }),
  };
}

function decodeFailed(encoded: EncodedEventOf<'f'>): Event {
  const [, at, atMs, attempt, retryable, iteration, retryAfterMs, jitter, resumes] = encoded;
  return {
    type: 'failed',
    at,
    atMs,
    attempt,
    ...(resumes != null && { resumes }),
    retryable,
    ...(iteration != null && { iteration }),
    ...(retryAfterMs != null && { retryAfterMs }),
    ...(jitter != null && { jitter }),
  };
}

function decodePaused(encoded: EncodedEventOf<'p'>): Event {
  const [, at, atMs, attempt, kind, dueMs, , resumes, continues] = encoded;
  return {
    type: 'paused',
    at,
    atMs,
    attempt,
    ...(resumes != null && { resumes }),
    kind,
    ...(dueMs != null && { dueMs }),
    ...(continues === 1 && { continues: true as const }),
  };
}

/** Returns the token hash of the pause point that the event opens, if any. */
export function tokenHashOf(encoded: EncodedEvent): string | undefined {
  return encoded[0] === 'p' ? (encoded[6] ?? undefined) : undefined;
}
