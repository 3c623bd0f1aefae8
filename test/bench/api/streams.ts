import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { performance } from 'node:perf_hooks';
import { quantileOf } from './load.ts';
import type { Server } from './server.ts';
import { FRAMES, frame } from './contender.ts';

/** Measurements of concurrent streams. Times are in milliseconds. */
export interface StreamsTook {
  /** From the request to its first frame; all requests are sent at once. */
  firstP50: number;
  firstP99: number;
  /** From the opening of the gate to the end of the last stream. */
  allEndedMs: number;
  /** Memory of the server per open stream. */
  perStreamKb: number;
}

/** One stream: its text, and the time of its first frame. */
interface Open {
  firstMs: number;
  ended: Promise<string>;
}

/** A stream fails after this time without a frame. */
const TIMEOUT_MS = 60_000;

const BODY = JSON.stringify({ stream: true, selectedOutputs: ['S1.n'], input: {} });

/** Opens `count` streams, waits for the first frame of each, and lets them end. Throws unless all end correctly. */
export async function stream(server: Server, count: number): Promise<StreamsTook> {
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  try {
    const before = await server.number('memory');
    const fromMs = performance.now();
    const streams = await Promise.all(Array.from({ length: count }, () => opened(server, agent)));
    const perStreamKb = ((await server.number('memory')) - before) / count;
    const gateMs = performance.now();
    await server.openGate();
    const texts = await Promise.all(streams.map(({ ended }) => ended));
    const allEndedMs = performance.now() - gateMs;
    const wrong = texts.filter((text) => !isWhole(text));
    if (wrong.length > 0) throw new Error(`${wrong.length} of ${count} streams ended as: ${wrong[0]}`);
    const firsts = streams.map(({ firstMs }) => firstMs - fromMs);
    return { firstP50: quantileOf(firsts, 0.5), firstP99: quantileOf(firsts, 0.99), allEndedMs, perStreamKb };
  } finally {
    agent.destroy();
  }
}

/** Returns true if a stream has the chunk, the result, and the end marker, once each. */
function isWhole(text: string): boolean {
  const frames = text.split('\n\n').filter((each) => each.startsWith('data: '));
  const [first = '', final = '', last = ''] = frames;
  const chunk = first.includes('"chunk":"1"') && final.includes('"success":true');
  return frames.length === 3 && chunk && `${last}\n\n` === frame(FRAMES.last);
}

/** Opens a stream; resolves at its first frame. */
function opened(server: Server, agent: Agent): Promise<Open> {
  const { promise, resolve, reject } = Promise.withResolvers<Open>();
  const { path, headers } = server.endpoint('wait');
  const sent = request(server.origin + path, { method: 'POST', agent, headers });
  sent.on('error', reject);
  sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error('A stream sent nothing within the time limit.')));
  sent.on('response', (response: IncomingMessage) => {
    let text = '';
    const { promise: ended, resolve: end, reject: fail } = Promise.withResolvers<string>();
    // Before the first frame, nothing waits for the end of the stream.
    ended.catch(reject);
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => {
      text += chunk;
      if (text === chunk) resolve({ firstMs: performance.now(), ended });
    });
    response.on('end', () => {
      end(text);
      reject(new Error(`A stream ended with ${response.statusCode} and without a frame.`));
    });
    response.on('error', fail);
  });
  sent.end(BODY);
  return promise;
}
