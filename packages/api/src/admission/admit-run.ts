import { ApiError } from '../errors.ts';
import type { Services } from '../services.ts';
import { takeFrom } from './limiter.ts';
import { once, usageRefused } from './usage.ts';
import type { Release, RunRequest } from './usage.ts';

const RETRY = { 'Retry-After': '5' };

type Ports = Pick<Services, 'usage' | 'concurrency' | 'limiter' | 'now' | 'report'>;

/**
 * Lets a run in: its cost, then the bucket of its kind, then its place among those in flight. Gives what is called when
 * it moves no more, where a port wants to know. Throws 402, 403, 429, 503; what was taken before is given back.
 */
export async function admitRun(
  services: Ports,
  run: RunRequest,
  holder: string,
): Promise<Release | undefined> {
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
export async function reserve(
  { usage }: Pick<Ports, 'usage'>,
  run: RunRequest,
): Promise<Release | undefined> {
  const answer = await usage?.reserve(run);
  if (answer && 'refused' in answer) throw usageRefused(answer.refused);
  return answer?.release && once(answer.release);
}

async function enter({ concurrency, report }: Ports, run: RunRequest): Promise<Release | undefined> {
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
  run: RunRequest,
  report: Ports['report'],
): Promise<Release | null> {
  try {
    return await concurrency.acquire(run);
  } catch (error) {
    report(error);
    throw new ApiError(503, 'Runs cannot be let in at the moment. Please retry shortly.', {
      details: { code: 'SERVICE_OVERLOADED' },
      headers: RETRY,
    });
  }
}

function both(first: Release | undefined, second: Release | undefined): Release | undefined {
  if (!first || !second) return first ?? second;
  return () => {
    first();
    second();
  };
}
