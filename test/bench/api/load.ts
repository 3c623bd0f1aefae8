import type { EventEmitter } from 'node:events';
import { performance } from 'node:perf_hooks';
import { commonPeer } from '../peer.ts';
import { medianOf } from '../worker.ts';
import type { Server } from './server.ts';

/** The part of autocannon that is used here. It is installed with the peers. */
interface Options {
  url: string;
  method: string;
  headers: { [name: string]: string };
  body?: string;
  connections: number;
  amount: number;
  /** Interval of its checks for the end, in milliseconds. */
  sampleInt: number;
  verifyBody(body: string): boolean;
}
interface Counted {
  errors: number;
  timeouts: number;
  mismatches: number;
  statusCodeStats: { [status: string]: { count: number } };
}
type Autocannon = (options: Options, done: (error: Error | null, result: Counted) => void) => EventEmitter;

/** A request and its expected response. */
export interface Shot {
  method?: string;
  path: string;
  headers: { [name: string]: string };
  body?: string;
  connections: number;
  status: number;
  /** Text of every correct response. */
  says: string;
  /** The response is 202, and the request counts as finished when its step has run. */
  later?: boolean;
  /** Each request starts a run of one step. The runs are not measured, and the next sample begins when they have ended. */
  startsRuns?: boolean;
}

/** Measurements of a sample. Times are in milliseconds. */
export interface Took {
  p50: number;
  p99: number;
  perSecond: number;
  /** Processor time of the server per request. */
  cpuMs: number;
}

/** Sends the same request `amount` times. Throws unless every response is correct. */
export async function fire(server: Server, shot: Shot, amount: number): Promise<Took> {
  const { later, startsRuns } = shot;
  const stepsBefore = later || startsRuns ? await server.number('steps') : 0;
  const cpuBefore = await server.number('cpu');
  const { times, fromMs, lastMs } = await sendShots(server.origin, shot, amount);
  if (later) await server.untilSteps(stepsBefore + amount);
  const tookMs = (later ? performance.now() : lastMs) - fromMs;
  const cpuMs = (await server.number('cpu')) - cpuBefore;
  if (startsRuns) await server.untilSteps(stepsBefore + amount);
  return {
    p50: medianOf(times),
    p99: quantileOf(times, 0.99),
    perSecond: (amount / tookMs) * 1000,
    cpuMs: cpuMs / amount,
  };
}

export function quantileOf(values: readonly number[], quantile: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))] as number;
}

async function sendShots(
  origin: string,
  shot: Shot,
  amount: number,
): Promise<{ times: number[]; fromMs: number; lastMs: number }> {
  const { method = 'POST', path, headers, body, status, says } = shot;
  const connections = Math.min(shot.connections, amount);
  const { promise, resolve, reject } = Promise.withResolvers<Counted>();
  const times: number[] = [];
  const fromMs = performance.now();
  let lastMs = fromMs;
  commonPeer<Autocannon>('autocannon')(
    {
      ...{ url: origin + path, method, headers, connections, amount, sampleInt: 20 },
      ...(body !== undefined && { body }),
      verifyBody: (text) => text.includes(says),
    },
    (error, result) => (error ? reject(error) : resolve(result)),
  ).on('response', (_client: unknown, _status: number, _bytes: number, tookMs: number) => {
    times.push(tookMs);
    lastMs = performance.now();
  });
  const counted = await promise;
  const right = counted.statusCodeStats[status]?.count ?? 0;
  if (right === amount && counted.mismatches === 0) return { times, fromMs, lastMs };
  throw new Error(
    `${right} of ${amount} answers have status ${status}, ${counted.mismatches} have a text other than ${says}; ` +
      `${counted.errors} errors, ${counted.timeouts} timeouts`,
  );
}
