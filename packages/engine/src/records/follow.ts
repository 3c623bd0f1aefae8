import type { Clock, Plan } from '@heddle/core';
import { Replica } from '@heddle/core/run';
import type { Entry, IdleState } from '@heddle/core/run';
import { eventsOf, pausedEvent, loadEvent } from '../records/run-events.ts';
import type { Values } from '../records/values.ts';
import type { TailableRunStore } from '../store/stores.ts';
import type { RunEvent } from '../types.ts';
import { applyEntry } from './fold.ts';

const POLL_MS = 100;
/** Number of polls without new entries before `isServed` is called again. */
const POLLS_PER_CHECK = 10;

interface Parts {
  store: TailableRunStore;
  values: Values;
  clock: Clock;
  /** True while a process may execute the run. */
  isServed(): boolean;
  /** Aborted when the consumer stops. */
  signal?: AbortSignal;
}

/** The events of a run, from its growing journal: the same events as in the process that executes it. Starts after the entries in `replica`. */
export async function* follow(
  parts: Parts,
  runId: string,
  plan: Plan,
  replica = new Replica(runId, plan),
): AsyncGenerator<RunEvent> {
  let reported: IdleState = 'running';
  for (let idlePolls = 0; !parts.signal?.aborted; idlePolls++) {
    const entries = await parts.store.tail(runId, replica.seq);
    for (const entry of entries) yield* eventsAt(replica, entry, parts.values);
    const state = replica.idleState();
    if (state === 'ended') return;
    if (entries.length > 0) {
      idlePolls = -1;
      continue;
    }
    if (state !== reported) yield idleEvent(replica, state, parts.clock.now());
    reported = state;
    if (state === 'human' || (idlePolls % POLLS_PER_CHECK === 0 && !parts.isServed())) return;
    await delay(parts.clock);
  }
}

async function* eventsAt(replica: Replica, entry: Entry, values: Values): AsyncGenerator<RunEvent> {
  for (const raw of eventsOf(replica, entry, applyEntry(replica, entry))) {
    if (raw.type === 'event') yield await loadEvent(raw, values);
  }
}

function idleEvent(replica: Replica, state: Exclude<IdleState, 'ended'>, atMs: number): RunEvent {
  const { runId, pauses } = replica;
  return state === 'running'
    ? { type: 'run:resumed', runId, atMs }
    : pausedEvent(runId, atMs, state, [...pauses.values()]);
}

function delay(clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    clock.at(clock.now() + POLL_MS, resolve);
  });
}
