import type { EffectCall } from './effect-server.ts';
import type { KilledWorker } from './fleet.ts';
import type { Outage } from './faults.ts';

/** Deaths of workers and outages of the server, which can explain a block that ran twice. */
export interface Deaths {
  killed: readonly KilledWorker[];
  outages: readonly Outage[];
}

/** An attempt of a block that ran more than once. */
export interface RepeatedCall {
  /** The process that died during the first call; undefined if none did. */
  cause: 'worker' | 'server' | undefined;
  first: EffectCall;
  again: EffectCall;
}

/** Milliseconds within which a result reaches the server if the worker and the server are alive. */
const REPORT_MS = 10_000;

/** Returns the repeated calls of attempts, each with its cause. */
export function repeatsIn(calls: readonly EffectCall[], deaths: Deaths): RepeatedCall[] {
  const last = new Map<string, EffectCall>();
  const repeats: RepeatedCall[] = [];
  for (const again of calls) {
    const name = `${again.key}#${again.try}`;
    const first = last.get(name);
    if (first) repeats.push({ cause: causeOf(first, again, deaths), first, again });
    last.set(name, again);
  }
  return repeats;
}

function causeOf(first: EffectCall, again: EffectCall, { killed, outages }: Deaths): RepeatedCall['cause'] {
  const reportedMs = (first.endedMs ?? again.beganMs) + REPORT_MS;
  const kill = killed.find(({ pid }) => pid === first.pid);
  if (kill && kill.atMs >= first.beganMs && kill.atMs <= Math.min(reportedMs, again.beganMs)) return 'worker';
  const hadOutage = outages.some(
    ({ fromMs, untilMs }) => untilMs >= first.beganMs && fromMs <= Math.min(reportedMs, again.beganMs),
  );
  return hadOutage ? 'server' : undefined;
}
