import type { Address, Event } from '../machine/event.ts';
import type { Entry } from './entry.ts';

type Placed = Exclude<Entry['type'], 'started' | 'cancelled'>;
type Of<T extends Entry['type']> = Extract<Entry, { type: T }>;

/** What each type of entry is to the machine: the entry without its data. */
const EVENTS: { [T in Placed]: (entry: Of<T>, at: Address) => Event } = {
  completed: ({ atMs, try: attempt, port }, at) =>
    port === undefined
      ? { type: 'completed', at, atMs, attempt }
      : { type: 'completed', at, atMs, attempt, port },
  failed: ({ atMs, try: attempt, error, turn: iteration, retryAfterMs, jitter }, at) => ({
    type: 'failed',
    at,
    atMs,
    attempt,
    retryable: error.retryable,
    ...(iteration !== undefined && { iteration }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(jitter !== undefined && { jitter }),
  }),
  expanded: ({ atMs, turn: iteration, count }, at) => ({ type: 'expanded', at, atMs, iteration, count }),
  paused: ({ atMs, try: attempt, kind, dueMs }, at) => ({
    type: 'paused',
    at,
    atMs,
    attempt,
    kind,
    ...(dueMs !== undefined && { dueMs }),
  }),
  resumed: ({ atMs }, at) => ({ type: 'resumed', at, atMs }),
  blocked: ({ atMs, on }, at) => ({ type: 'blocked', at, atMs, on }),
  fired: ({ atMs, timer, try: attempt, branch }, at) => ({
    type: 'fired',
    at: branch === undefined ? at : [...at, branch],
    atMs,
    timer,
    ...(attempt !== undefined && { attempt }),
  }),
};

/** The machine's event for an entry about the node at `at`. */
export function eventAt(entry: Of<Placed>, at: Address): Event {
  const make = EVENTS[entry.type] as (entry: Of<Placed>, at: Address) => Event;
  return make(entry, at);
}
