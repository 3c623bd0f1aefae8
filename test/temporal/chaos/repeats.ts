import type { EffectCall } from './effect-server.ts';
import type { KilledWorker } from './fleet.ts';
import type { Outage } from './faults.ts';

/** Kills of workers and outages of the server, which can explain why a block ran twice. */
export interface Interruptions {
  killedWorkers: readonly KilledWorker[];
  outages: readonly Outage[];
}

/** A second execution of the same attempt of a block. */
export interface RepeatedCall {
  /** The process that died before the result of the previous call was reported; undefined if none did. */
  cause: 'worker' | 'server' | undefined;
  previousCall: EffectCall;
  repeat: EffectCall;
}

/** Milliseconds within which a result reaches the server if the worker and the server are alive. */
const MAX_REPORT_DELAY_MS = 10_000;

/** Returns the calls that repeat an attempt, each with its cause. */
export function findRepeatedCalls(
  calls: readonly EffectCall[],
  interruptions: Interruptions,
): RepeatedCall[] {
  const lastCalls = new Map<string, EffectCall>();
  const repeats: RepeatedCall[] = [];
  for (const call of calls) {
    const attemptKey = `${call.key}#${call.try}`;
    const previousCall = lastCalls.get(attemptKey);
    if (previousCall)
      repeats.push({ cause: causeOf(previousCall, call, interruptions), previousCall, repeat: call });
    lastCalls.set(attemptKey, call);
  }
  return repeats;
}

function causeOf(
  previousCall: EffectCall,
  nextCall: EffectCall,
  { killedWorkers, outages }: Interruptions,
): RepeatedCall['cause'] {
  const reportDeadlineMs = (previousCall.endedMs ?? nextCall.startedMs) + MAX_REPORT_DELAY_MS;
  const kill = killedWorkers.find(({ pid }) => pid === previousCall.pid);
  if (
    kill &&
    kill.atMs >= previousCall.startedMs &&
    kill.atMs <= Math.min(reportDeadlineMs, nextCall.startedMs)
  )
    return 'worker';
  const hadOutage = outages.some(
    ({ startMs, endMs }) =>
      endMs >= previousCall.startedMs && startMs <= Math.min(reportDeadlineMs, nextCall.startedMs),
  );
  return hadOutage ? 'server' : undefined;
}
