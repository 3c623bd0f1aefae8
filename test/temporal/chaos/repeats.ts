import type { EffectCall } from './effect-server.ts';
import type { KilledWorker } from './fleet.ts';
import type { Outage } from './faults.ts';

/** Kills of workers and outages of the server, which can explain why a block ran twice. */
export interface Interruptions {
  killed: readonly KilledWorker[];
  outages: readonly Outage[];
}

/** An attempt of a block that ran more than once. */
export interface RepeatedCall {
  /** The process that died before the result of the first call was reported; undefined if none did. */
  cause: 'worker' | 'server' | undefined;
  first: EffectCall;
  repeat: EffectCall;
}

/** Milliseconds within which a result reaches the server if the worker and the server are alive. */
const REPORT_MS = 10_000;

/** Returns the repeated calls of attempts, each with its cause. */
export function repeatsIn(calls: readonly EffectCall[], interruptions: Interruptions): RepeatedCall[] {
  const lastCalls = new Map<string, EffectCall>();
  const repeats: RepeatedCall[] = [];
  for (const call of calls) {
    const attempt = `${call.key}#${call.try}`;
    const first = lastCalls.get(attempt);
    if (first) repeats.push({ cause: causeOf(first, call, interruptions), first, repeat: call });
    lastCalls.set(attempt, call);
  }
  return repeats;
}

function causeOf(
  first: EffectCall,
  next: EffectCall,
  { killed, outages }: Interruptions,
): RepeatedCall['cause'] {
  const reportedMs = (first.endedMs ?? next.beganMs) + REPORT_MS;
  const kill = killed.find(({ pid }) => pid === first.pid);
  if (kill && kill.atMs >= first.beganMs && kill.atMs <= Math.min(reportedMs, next.beganMs)) return 'worker';
  const hadOutage = outages.some(
    ({ fromMs, untilMs }) => untilMs >= first.beganMs && fromMs <= Math.min(reportedMs, next.beganMs),
  );
  return hadOutage ? 'server' : undefined;
}
