import type { Event, TimerName } from '@heddle/core/machine';
import type { Coded } from './messages.ts';

type Of<T extends Event['type']> = Extract<Event, { type: T }>;

/** How the events travel that come of an activity. Absent fields are `null`, and left out at the end. */
const ENCODERS: { [T in 'completed' | 'failed' | 'expanded' | 'paused' | 'fired']: (event: Of<T>) => Coded } =
  {
    completed: ({ at, atMs, attempt, port }) =>
      port === undefined ? ['c', at, atMs, attempt] : ['c', at, atMs, attempt, port],
    failed: ({ at, atMs, attempt, retryable, iteration = null, retryAfterMs = null, jitter = null }) =>
      trimmed(['f', at, atMs, attempt, retryable, iteration, retryAfterMs, jitter]),
    expanded: ({ at, atMs, iteration, count }) => ['e', at, atMs, iteration, count],
    paused: ({ at, atMs, attempt, kind, dueMs = null }) => ['p', at, atMs, attempt, kind, dueMs],
    fired: ({ at, atMs, timer, attempt = null }) => trimmed(['t', at, atMs, timer, attempt]),
  };

/** The event as it travels; `tokenHash` names the pause point that it opens. Throws for events that no activity gives. */
export function encode(event: Event, tokenHash?: string): Coded {
  const encoder = ENCODERS[event.type as keyof typeof ENCODERS] as ((event: Event) => Coded) | undefined;
  if (!encoder) throw new TypeError(`an activity gives no event of type ${event.type}`);
  const coded = encoder(event);
  if (coded[0] === 'p' && tokenHash !== undefined) coded.push(tokenHash);
  return trimmed(coded);
}

/** Ends without its trailing nulls. */
function trimmed(coded: Coded): Coded {
  while (coded[coded.length - 1] === null) (coded as unknown[]).pop();
  return coded;
}

/** The event that `encode` was given. */
export function decode(coded: Coded): Event {
  const [type, at, atMs] = coded;
  switch (type) {
    case 'c':
      return {
        type: 'completed',
        at,
        atMs,
        attempt: coded[3],
        ...(coded[4] !== undefined && { port: coded[4] }),
      };
    case 'f':
      return {
        type: 'failed',
        at,
        atMs,
        attempt: coded[3],
        retryable: coded[4],
        ...(coded[5] != null && { iteration: coded[5] }),
        ...(coded[6] != null && { retryAfterMs: coded[6] }),
        ...(coded[7] != null && { jitter: coded[7] }),
      };
    case 'e':
      return { type: 'expanded', at, atMs, iteration: coded[3], count: coded[4] };
    case 'p':
      return {
        type: 'paused',
        at,
        atMs,
        attempt: coded[3],
        kind: coded[4],
        ...(coded[5] != null && { dueMs: coded[5] }),
      };
    case 't':
      return {
        type: 'fired',
        at,
        atMs,
        timer: coded[3] as TimerName,
        ...(coded[4] != null && { attempt: coded[4] }),
      };
  }
}

/** Hash of the token of the pause point that the event opens. */
export function tokenHashOf(coded: Coded): string | undefined {
  return coded[0] === 'p' ? (coded[6] ?? undefined) : undefined;
}
