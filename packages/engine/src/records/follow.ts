import type { Clock, Plan } from '@heddle/core';
import { Replica } from '@heddle/core/run';
import type { Entry, IdleState } from '@heddle/core/run';
import { eventsOf, pausedEvent, loadEvent } from '../records/run-events.ts';
import type { Values } from '../records/values.ts';
import type { TailableRunStore } from '../store/stores.ts';
import type { RunEvent } from '../types.ts';
import { applyEntry } from './fold.ts';

const POLL_MS = 100;
/** How many looks without news before it is asked whether anybody runs what is stored there at all. */
const PATIENCE = 10;

interface Parts {
  store: TailableRunStore;
  values: Values;
  clock: Clock;
  isServed(): boolean;
  /** Aborted when nobody listens any more. */
  signal?: AbortSignal;
}

/** The events of a run out of its growing journal: the same that its own process gives. `replica`: what is told already. */
export async function* follow(
  parts: Parts,
  runId: string,
  plan: Plan,
  replica = new Replica(runId, plan),
): AsyncGenerator<RunEvent> {
  let told: IdleState = 'running';
  for (let quiet = 0; !parts.signal?.aborted; quiet++) {
    const entries = await parts.store.tail(runId, replica.seq);
    for (const entry of entries) yield* eventsAt(replica, entry, parts.values);
    const rest = replica.idleState();
    if (rest === 'ended') return;
    if (entries.length > 0) {
      quiet = -1;
      continue;
    }
    if (rest !== told) yield restChange(replica, rest, parts.clock.now());
    told = rest;
    if (rest === 'human' || (quiet % PATIENCE === 0 && !parts.isServed())) return;
    await pause(parts.clock);
  }
}

async function* eventsAt(replica: Replica, entry: Entry, values: Values): AsyncGenerator<RunEvent> {
  for (const raw of eventsOf(replica, entry, applyEntry(replica, entry))) {
    if (raw.type === 'event') yield await loadEvent(raw, values);
  }
}

function restChange(replica: Replica, rest: Exclude<IdleState, 'ended'>, atMs: number): RunEvent {
  const { runId, pauses } = replica;
  return rest === 'running'
    ? { type: 'run:resumed', runId, atMs }
    : pausedEvent(runId, atMs, rest, [...pauses.values()]);
}

function pause(clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    clock.at(clock.now() + POLL_MS, resolve);
  });
}
