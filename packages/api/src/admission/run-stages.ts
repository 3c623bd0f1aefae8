import { ApiError } from '../errors.ts';
import type { Services } from '../services.ts';
import { takeFrom } from './limiter.ts';
import { once, usageRefused } from './usage.ts';
import type { Leave, RunDemand } from './usage.ts';

const RETRY = { 'Retry-After': '5' };

type Ports = Pick<Services, 'usage' | 'concurrency' | 'limiter' | 'now' | 'report'>;

/**
 * Lets a run in: its cost, then the bucket of its kind, then its place among those in flight. Gives what is called when
 * it moves no more, where a port wants to know. Throws 402, 403, 429, 503; what was taken before is given back.
 */
export async function admitRun(services: Ports, run: RunDemand, holder: string): Promise<Leave | undefined> {
  const settle = await reserve(services, run);
  try {
    const kind = run.mode === 'async' ? 'async' : 'sync';
    const { limiter } = services;
    await takeFrom(limiter, kind, [holder], { nowMs: services.now(), reason: 'RATE_LIMIT_EXCEEDED' });
    return both(settle, await enter(services, run));
  } catch (error) {
    settle?.();
    throw error;
  }
}

/** Reserves what the run may cost. Throws 402, 403; a port that fails is a fault of ours: nothing runs unpaid. */
export async function reserve({ usage }: Pick<Ports, 'usage'>, run: RunDemand): Promise<Leave | undefined> {
  const answer = await usage?.reserve(run);
  if (answer && 'refused' in answer) throw usageRefused(answer.refused);
  return answer?.leave && once(answer.leave);
}

async function enter({ concurrency, report }: Ports, run: RunDemand): Promise<Leave | undefined> {
  if (!concurrency) return undefined;
  const leave = await place(concurrency, run, report);
  if (leave) return once(leave);
  throw new ApiError(429, 'Too many runs are in flight. Please retry shortly.', {
    details: { code: 'EXECUTION_CONCURRENCY_LIMIT' },
    headers: RETRY,
  });
}

async function place(
  concurrency: NonNullable<Ports['concurrency']>,
  run: RunDemand,
  report: Ports['report'],
): Promise<Leave | null> {
  try {
    return await concurrency.enter(run);
  } catch (error) {
    report(error);
    throw new ApiError(503, 'Runs cannot be let in at the moment. Please retry shortly.', {
      details: { code: 'SERVICE_OVERLOADED' },
      headers: RETRY,
    });
  }
}

function both(first: Leave | undefined, second: Leave | undefined): Leave | undefined {
  if (!first || !second) return first ?? second;
  return () => {
    first();
    second();
  };
}
