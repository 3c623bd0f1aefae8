import type { Called } from './effect-server.ts';
import type { Killed } from './fleet.ts';
import type { Outage } from './faults.ts';

/** Deaths of processes that can explain a block that ran twice. */
export interface Deaths {
  killed: readonly Killed[];
  outages: readonly Outage[];
}

/** An attempt of a block that ran more than once. */
export interface Repeated {
  /** The process that died during the first call; undefined if none did. */
  by: 'worker' | 'server' | undefined;
  first: Called;
  again: Called;
}

/** Milliseconds within which a result reaches the server if the worker and the server are alive. */
const HANDED_IN_MS = 10_000;

/** Returns the repeated calls of attempts, each with its explanation. */
export function repeatsIn(calls: readonly Called[], deaths: Deaths): Repeated[] {
  const last = new Map<string, Called>();
  const repeats: Repeated[] = [];
  for (const again of calls) {
    const name = `${again.key}#${again.try}`;
    const first = last.get(name);
    if (first) repeats.push({ by: explain(first, again, deaths), first, again });
    last.set(name, again);
  }
  return repeats;
}

function explain(first: Called, again: Called, { killed, outages }: Deaths): Repeated['by'] {
  const handedInMs = (first.endedMs ?? again.beganMs) + HANDED_IN_MS;
  const died = killed.find(({ pid }) => pid === first.pid);
  if (died && died.atMs >= first.beganMs && died.atMs <= Math.min(handedInMs, again.beganMs)) return 'worker';
  const away = outages.some(
    ({ fromMs, untilMs }) => untilMs >= first.beganMs && fromMs <= Math.min(handedInMs, again.beganMs),
  );
  return away ? 'server' : undefined;
}
