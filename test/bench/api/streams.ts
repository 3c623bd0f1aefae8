import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
import { quantileOf } from './load.ts';
import type { Server } from './server.ts';
import { SSE_EVENTS, formatSseEvent } from './contender.ts';

/** Measurements of concurrent streams. Times are in milliseconds. */
export interface StreamsSample {
  /** From the request to its first event; all requests are sent at the same time. */
  firstEventP50Ms: number;
  firstEventP99Ms: number;
  /** From the opening of the gate to the end of the last stream. */
  allEndedMs: number;
  /** Memory of the server per open stream. */
  memoryPerStreamKb: number;
}

/** An open stream: the time of its first event, and a promise of its whole text. */
interface OpenStream {
  firstEventMs: number;
  wholeText: Promise<string>;
}

/** A stream fails after this time without an event. */
const TIMEOUT_MS = 60_000;

const BODY = JSON.stringify({ stream: true, selectedOutputs: ['S1.n'], input: {} });

/** Opens `count` streams, waits for the first event of each, and lets them end. Throws unless all end correctly. */
export async function measureStreams(server: Server, count: number): Promise<StreamsSample> {
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  try {
    const initialKb = await server.readMetric('memory');
    const startMs = performance.now();
    const streams = await Promise.all(Array.from({ length: count }, () => openStream(server, agent)));
    const memoryPerStreamKb = ((await server.readMetric('memory')) - initialKb) / count;
    const gateOpenedMs = performance.now();
    await server.openGate();
    const texts = await Promise.all(streams.map(({ wholeText }) => wholeText));
    const allEndedMs = performance.now() - gateOpenedMs;
    const incompleteTexts = texts.filter((text) => !isComplete(text));
    if (incompleteTexts.length > 0)
      throw new Error(`${incompleteTexts.length} of ${count} streams ended as: ${incompleteTexts[0]}`);
    const firstEventDelaysMs = streams.map(({ firstEventMs }) => firstEventMs - startMs);
    return {
      firstEventP50Ms: quantileOf(firstEventDelaysMs, 0.5),
      firstEventP99Ms: quantileOf(firstEventDelaysMs, 0.99),
      allEndedMs,
      memoryPerStreamKb,
    };
  } finally {
    agent.destroy();
  }
}

/** Returns true if a stream has the chunk, the result, and the end marker, once each. */
function isComplete(text: string): boolean {
  const events = text.split('\n\n').filter((event) => event.startsWith('data: '));
  const [first = '', final = '', done = ''] = events;
  const hasResult = first.includes('"chunk":"1"') && final.includes('"success":true');
  return events.length === 3 && hasResult && `${done}\n\n` === formatSseEvent(SSE_EVENTS.done);
}

/** Opens a stream. Resolves at its first event. */
function openStream(server: Server, agent: Agent): Promise<OpenStream> {
  const { promise, resolve, reject } = Promise.withResolvers<OpenStream>();
  const { path, headers } = server.endpoint('wait');
  const clientRequest = request(server.origin + path, { method: 'POST', agent, headers });
  clientRequest.on('error', reject);
  clientRequest.setTimeout(TIMEOUT_MS, () =>
    clientRequest.destroy(new Error('A stream sent nothing within the time limit.')),
  );
  clientRequest.on('response', (response: IncomingMessage) => {
    let text = '';
    const { promise: wholeText, resolve: end, reject: fail } = Promise.withResolvers<string>();
    // Before the first event, nothing waits for the end of the stream.
    wholeText.catch(reject);
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      text += chunk;
      if (text === chunk) resolve({ firstEventMs: performance.now(), wholeText });
    });
    response.on('end', () => {
      end(text);
      reject(new Error(`A stream ended with ${response.statusCode} and without an event.`));
    });
    response.on('error', fail);
  });
  clientRequest.end(BODY);
  return promise;
}
