import type { BlockLog } from '@heddle/core';
import type { RunEvent } from '@heddle/engine';
import { badRequest } from '@heddle/api/areas';

/** An event of a run, without values of blocks. */
export interface EventSummary {
  type: RunEvent['type'];
  at: string;
  blockId?: string;
  /** The span that has changed. */
  spanId?: string;
  status?: string;
  iteration?: number;
  count?: number | null;
  attempt?: number;
}

/** Returns how many events a reconnecting client has received. Throws 400 for an invalid `Last-Event-ID`. */
export function receivedEventCount(headers: Headers): number {
  const lastEventId = headers.get('last-event-id') ?? '0';
  if (/^\d{1,15}$/.test(lastEventId)) return Number(lastEventId);
  throw badRequest('Last-Event-ID must be the id of an event: a whole number');
}

/**
 * Yields the events after the first `receivedCount` ones. The id of an event is its number, from 1. Pauses and resumes
 * have no id: only clients that are connected at that time get them. Emissions of running blocks are omitted.
 */
export async function* summarizeEvents(
  events: AsyncIterable<RunEvent>,
  receivedCount: number,
): AsyncGenerator<{ id?: number; data: EventSummary }> {
  let count = 0;
  for await (const event of events) {
    if (event.type === 'block:emission') continue;
    if (event.type === 'run:paused' || event.type === 'run:resumed') {
      yield { data: toSummary(event) };
      continue;
    }
    count += 1;
    if (count > receivedCount) yield { id: count, data: toSummary(event) };
  }
}

function toSummary(event: Exclude<RunEvent, { type: 'block:emission' }>): EventSummary {
  const base = { type: event.type, at: new Date(event.atMs).toISOString() };
  if ('log' in event) {
    const { blockId, status } = event.log;
    return { ...base, blockId, spanId: spanIdOf(event.log), status };
  }
  switch (event.type) {
    case 'block:retrying':
      return { ...base, blockId: event.blockId, attempt: event.attempt };
    case 'container:iteration':
      return { ...base, blockId: event.blockId, iteration: event.iteration, count: event.count ?? null };
    case 'run:ended':
      return { ...base, status: event.status };
    case 'run:started':
    case 'run:paused':
    case 'run:resumed':
      return base;
  }
}

/** Returns the id of the span of a block's log, without the id of the run. */
function spanIdOf({ blockId, container, parents }: BlockLog): string {
  const scopes = [...parents, ...(container ? [container] : [])];
  return [...scopes.flatMap((scope) => [scope.blockId, String(scope.index)]), blockId].join('/');
}
