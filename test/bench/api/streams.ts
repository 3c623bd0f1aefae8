import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
import { quantileOf } from './load.ts';
import type { Server } from './server.ts';
import { FRAMES, formatSseFrame } from './contender.ts';

/** Measurements of concurrent streams. Times are in milliseconds. */
export interface StreamsSample {
  /** From the request to its first frame; all requests are sent at the same time. */
  firstP50: number;
  firstP99: number;
  /** From the opening of the gate to the end of the last stream. */
  allEndedMs: number;
  /** Memory of the server per open stream. */
  perStreamKb: number;
}

/** An open stream: the time of its first frame, and a promise of its whole text. */
interface OpenStream {
  firstFrameMs: number;
  ended: Promise<string>;
}

/** A stream fails after this time without a frame. */
const TIMEOUT_MS = 60_000;

const BODY = JSON.stringify({ stream: true, selectedOutputs: ['S1.n'], input: {} });

/** Opens `count` streams, waits for the first frame of each, and lets them end. Throws unless all end correctly. */
export async function measureStreams(server: Server, count: number): Promise<StreamsSample> {
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  try {
    const initialKb = await server.readFigure('memory');
    const startMs = performance.now();
    const streams = await Promise.all(Array.from({ length: count }, () => openStream(server, agent)));
    const perStreamKb = ((await server.readFigure('memory')) - initialKb) / count;
    const gateMs = performance.now();
    await server.openGate();
    const texts = await Promise.all(streams.map(({ ended }) => ended));
    const allEndedMs = performance.now() - gateMs;
    const incomplete = texts.filter((text) => !isComplete(text));
    if (incomplete.length > 0)
      throw new Error(`${incomplete.length} of ${count} streams ended as: ${incomplete[0]}`);
    const firstFramesMs = streams.map(({ firstFrameMs }) => firstFrameMs - startMs);
    return {
      firstP50: quantileOf(firstFramesMs, 0.5),
      firstP99: quantileOf(firstFramesMs, 0.99),
      allEndedMs,
      perStreamKb,
    };
  } finally {
    agent.destroy();
  }
}

/** Returns true if a stream has the chunk, the result, and the end marker, once each. */
function isComplete(text: string): boolean {
  const frames = text.split('\n\n').filter((each) => each.startsWith('data: '));
  const [first = '', final = '', last = ''] = frames;
  const hasResult = first.includes('"chunk":"1"') && final.includes('"success":true');
  return frames.length === 3 && hasResult && `${last}\n\n` === formatSseFrame(FRAMES.last);
}

/** Opens a stream. Resolves at its first frame. */
function openStream(server: Server, agent: Agent): Promise<OpenStream> {
  const { promise, resolve, reject } = Promise.withResolvers<OpenStream>();
  const { path, headers } = server.endpoint('wait');
  const outgoing = request(server.origin + path, { method: 'POST', agent, headers });
  outgoing.on('error', reject);
  outgoing.setTimeout(TIMEOUT_MS, () =>
    outgoing.destroy(new Error('A stream sent nothing within the time limit.')),
  );
  outgoing.on('response', (response: IncomingMessage) => {
    let text = '';
    const { promise: ended, resolve: end, reject: fail } = Promise.withResolvers<string>();
    // Before the first frame, nothing waits for the end of the stream.
    ended.catch(reject);
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      text += chunk;
      if (text === chunk) resolve({ firstFrameMs: performance.now(), ended });
    });
    response.on('end', () => {
      end(text);
      reject(new Error(`A stream ended with ${response.statusCode} and without a frame.`));
    });
    response.on('error', fail);
  });
  outgoing.end(BODY);
  return promise;
}
