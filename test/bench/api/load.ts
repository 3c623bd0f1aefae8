import type { EventEmitter } from 'node:events';
import { performance } from 'node:perf_hooks';
import { commonPeer } from '../peer.ts';
import { medianOf } from '../worker.ts';
import type { Server } from './server.ts';

/** What is used of autocannon, which is installed with the peers. */
interface Options {
  url: string;
  method: string;
  headers: { [name: string]: string };
  body?: string;
  connections: number;
  amount: number;
  /** How often it looks whether it is done, in milliseconds. */
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

/** One kind of request, and what is to come back. */
export interface Shot {
  method?: string;
  path: string;
  headers: { [name: string]: string };
  body?: string;
  connections: number;
  status: number;
  /** Part of every right answer. */
  says: string;
  /** What is asked for is done only when its step has been run: 202. */
  later?: boolean;
}

/** What came of a sample. Times in milliseconds. */
export interface Took {
  p50: number;
  p99: number;
  perSecond: number;
  /** Processor time of the server for each request. */
  cpuMs: number;
}

/** Sends `amount` of the same request, and throws unless every answer is right. */
export async function fire(server: Server, shot: Shot, amount: number): Promise<Took> {
  const stepsBefore = shot.later ? await server.number('steps') : 0;
  const cpuBefore = await server.number('cpu');
  const { times, fromMs, lastMs } = await shots(server.origin, shot, amount);
  if (shot.later) await server.untilSteps(stepsBefore + amount);
  const tookMs = (shot.later ? performance.now() : lastMs) - fromMs;
  const cpuMs = (await server.number('cpu')) - cpuBefore;
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

async function shots(
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
    `${right} of ${amount} answers have status ${status}, ${counted.mismatches} say something else than ${says}; ` +
      `${counted.errors} errors, ${counted.timeouts} timeouts`,
  );
}
