import type { EventEmitter } from 'node:events';
import { performance } from 'node:perf_hooks';
import { requirePeer } from '../peer.ts';
import { medianOf } from '../worker.ts';
import type { Server } from './server.ts';

/** The options of autocannon that are used here. The package is installed with the peers. */
interface AutocannonOptions {
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
interface LoadResult {
  errors: number;
  timeouts: number;
  mismatches: number;
  statusCodeStats: { [status: string]: { count: number } };
}
type Autocannon = (
  options: AutocannonOptions,
  callback: (error: Error | null, result: LoadResult) => void,
) => EventEmitter;

/** A request and its expected response. */
export interface RequestSpec {
  method?: string;
  path: string;
  headers: { [name: string]: string };
  body?: string;
  connections: number;
  expectedStatus: number;
  /** Every correct response contains this text. */
  expectedText: string;
  /** The response is 202, and the request counts as finished when its step has run. */
  isAsync?: boolean;
  /** Each request starts a run of one step. The runs are not measured; the next sample begins after their end. */
  startsRuns?: boolean;
}

/** Measurements of a sample. Times are in milliseconds. */
export interface LoadSample {
  p50: number;
  p99: number;
  perSecond: number;
  /** CPU time of the server per request. */
  cpuMs: number;
}

/** Sends the same request `requestCount` times. Throws unless every response is correct. */
export async function sendRequests(
  server: Server,
  spec: RequestSpec,
  requestCount: number,
): Promise<LoadSample> {
  const { isAsync, startsRuns } = spec;
  const initialStepCount = isAsync || startsRuns ? await server.readMetric('steps') : 0;
  const initialCpuMs = await server.readMetric('cpu');
  const { responseTimesMs, startMs, lastResponseMs } = await runAutocannon(server.origin, spec, requestCount);
  if (isAsync) await server.waitForSteps(initialStepCount + requestCount);
  const durationMs = (isAsync ? performance.now() : lastResponseMs) - startMs;
  const cpuMs = (await server.readMetric('cpu')) - initialCpuMs;
  if (startsRuns) await server.waitForSteps(initialStepCount + requestCount);
  return {
    p50: medianOf(responseTimesMs),
    p99: quantileOf(responseTimesMs, 0.99),
    perSecond: (requestCount / durationMs) * 1000,
    cpuMs: cpuMs / requestCount,
  };
}

export function quantileOf(values: readonly number[], quantile: number): number {
  const sortedValues = values.toSorted((a, b) => a - b);
  return sortedValues[
    Math.min(sortedValues.length - 1, Math.floor(sortedValues.length * quantile))
  ] as number;
}

async function runAutocannon(
  origin: string,
  spec: RequestSpec,
  requestCount: number,
): Promise<{ responseTimesMs: number[]; startMs: number; lastResponseMs: number }> {
  const { method = 'POST', path, headers, body, expectedStatus, expectedText } = spec;
  const connections = Math.min(spec.connections, requestCount);
  const { promise, resolve, reject } = Promise.withResolvers<LoadResult>();
  const responseTimesMs: number[] = [];
  const startMs = performance.now();
  let lastResponseMs = startMs;
  requirePeer<Autocannon>('autocannon')(
    {
      ...{ url: origin + path, method, headers, connections, amount: requestCount, sampleInt: 20 },
      ...(body !== undefined && { body }),
      verifyBody: (response) => response.includes(expectedText),
    },
    (error, result) => (error ? reject(error) : resolve(result)),
  ).on('response', (_client: unknown, _status: number, _bytes: number, responseTimeMs: number) => {
    responseTimesMs.push(responseTimeMs);
    lastResponseMs = performance.now();
  });
  const totals = await promise;
  const correctCount = totals.statusCodeStats[expectedStatus]?.count ?? 0;
  if (correctCount === requestCount && totals.mismatches === 0)
    return { responseTimesMs, startMs, lastResponseMs };
  throw new Error(
    `${correctCount} of ${requestCount} responses have status ${expectedStatus}, ${totals.mismatches} do not contain ${expectedText}; ` +
      `${totals.errors} errors, ${totals.timeouts} timeouts`,
  );
}
