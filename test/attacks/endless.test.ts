import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import { createEgress, type Egress } from '@heddle/sandbox/egress';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createSelfSignedCertificate } from '../support/certificate.ts';
import { pickByScale } from '../support/scale.ts';
import { EXTERNAL_ADDRESS } from './network.ts';
import { watchHost } from './watch.ts';

const OK_STATUS_LINE = 'HTTP/1.1 200 OK\r\n';
const CHUNKED_HEAD = `${OK_STATUS_LINE}Transfer-Encoding: chunked\r\n\r\n`;

/** By path: what the response has, its first bytes, and the bytes that the server then repeats endlessly. */
const ENDLESS_RESPONSES: Readonly<
  Record<string, readonly [title: string, firstBytes: string, repeatedBytes: string]>
> = {
  '/status': ['an endless reason phrase', 'HTTP/1.1 200 ', 'x'.repeat(65_536)],
  '/newlines': ['empty lines before a response', '', '\r\n'.repeat(30_000)],
  '/hints': [
    'informational responses before a response',
    '',
    'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n'.repeat(2_000),
  ],
  '/name': ['an endless header name', OK_STATUS_LINE, 'x'.repeat(65_536)],
  '/extension': ['a chunk extension', `${CHUNKED_HEAD}1;`, 'x'.repeat(65_536)],
  '/zeros': ['a chunk length that begins with zeros', CHUNKED_HEAD, '0'.repeat(65_536)],
  '/chunks': ['chunks of one byte', CHUNKED_HEAD, '1\r\nx\r\n'.repeat(10_000)],
  '/trailers': ['headers after the body', `${CHUNKED_HEAD}0\r\n`, 'x-a: bbbbbbbbbbbbbbbb\r\n'.repeat(2_000)],
  '/comment': [
    'a comment in a compressed body',
    `${OK_STATUS_LINE}Content-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x10\0\0\0\0\0\x03`,
    'c'.repeat(65_536),
  ],
};

/** Empty compressed bodies. Each needs its own job in the decompression threads, which limit the rate. */
const EMPTY_BODIES_PATH = '/nothing';
const EMPTY_BODIES = [
  '',
  `${OK_STATUS_LINE}Content-Encoding: gzip\r\n\r\n`,
  '\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0'.repeat(3_000),
];

const LONG_TIMEOUT = { timeout: 120_000 };

/** The server runs in its own thread, so that it does not delay the event loop of the client, which is measured. */
const SERVER_SCRIPT = `
  const { createServer } = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  const { endlessResponses, host } = workerData;
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', (data) => {
      const [, firstBytes, repeatedBytes] = endlessResponses[data.toString('latin1').split(' ')[1]];
      const repeatedBuffer = Buffer.from(repeatedBytes, 'latin1');
      const send = () => { while (!socket.destroyed && socket.write(repeatedBuffer)); };
      socket.on('drain', send);
      socket.write(firstBytes, 'latin1');
      send();
    });
  });
  server.listen(0, host, () => parentPort.postMessage(server.address().port));`;

describe('a server that never ends its response', () => {
  watchHost();
  let server: Worker;
  let port = 0;
  let egress: Egress;
  beforeAll(async () => {
    server = new Worker(SERVER_SCRIPT, {
      eval: true,
      workerData: {
        endlessResponses: { ...ENDLESS_RESPONSES, [EMPTY_BODIES_PATH]: EMPTY_BODIES },
        host: EXTERNAL_ADDRESS.address,
      },
    });
    port = await new Promise((resolve) => server.once('message', resolve));
    const allowPrivate = [`${EXTERNAL_ADDRESS.address}/32`];
    egress = createEgress({ allowPrivate, ports: 'any', maxResponseBytes: 500_000 });
  });
  afterAll(async () => {
    await egress.close();
    await server.terminate();
  });

  /** Returns the error code of each of several concurrent requests, or `OK` if the request succeeds. */
  const requestConcurrently = async (path: string, timeoutMs: number): Promise<readonly string[]> => {
    const url = `http://${EXTERNAL_ADDRESS.address}:${port}${path}`;
    const requests = Array.from({ length: pickByScale(6, 20) }, () => egress.fetch({ url, timeoutMs }));
    const results = await Promise.allSettled(requests);
    return results.map((result) =>
      result.status === 'rejected' ? (result.reason as { code: string }).code : 'OK',
    );
  };

  it.each(Object.entries(ENDLESS_RESPONSES).map(([path, [title]]) => ({ title, path })))(
    'is disconnected by many concurrent requests long before their timeout: $title',
    LONG_TIMEOUT,
    async ({ path }) => {
      for (const code of await requestConcurrently(path, 100_000))
        expect(code).toMatch(/^EGRESS_(?:TOO_LARGE|FAILED)$/);
    },
  );

  it('is disconnected at the timeout if its many empty compressed bodies take that long', async () => {
    for (const code of await requestConcurrently(EMPTY_BODIES_PATH, 2_000))
      expect(code).toMatch(/^EGRESS_(?:TOO_LARGE|TIMEOUT)$/);
  });
});

describe('a server that offers HTTP/2', () => {
  watchHost();

  it('is used with HTTP/1.1, so that all bytes are counted', async () => {
    const { cert, key } = createSelfSignedCertificate();
    const server = createSecureServer({ cert, key, allowHTTP1: true }, (request, response) => {
      response.end(request.httpVersion);
    });
    const sessions: unknown[] = [];
    server.on('session', (session) => sessions.push(session));
    await new Promise<void>((resolve) => server.listen(0, EXTERNAL_ADDRESS.address, resolve));
    const { port } = server.address() as AddressInfo;
    const policy = { allowPrivate: [`${EXTERNAL_ADDRESS.address}/32`], ports: 'any' } as const;
    const egress = createEgress(policy, undefined, { ca: [cert], verify: false });
    onTestFinished(async () => {
      await egress.close();
      server.close();
    });
    const { body } = await egress.fetch({ url: `https://${EXTERNAL_ADDRESS.address}:${port}/` });
    expect(Buffer.from(body).toString()).toBe('1.1');
    expect(sessions).toEqual([]);
  });
});
