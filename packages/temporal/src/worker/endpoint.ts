import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EngineError } from '@heddle/core';
import { prometheusText } from './metrics.ts';
import type { WorkerStatus } from './status.ts';

/** Address of a worker's health endpoint. */
export interface EndpointOptions {
  /** 0: any free port. */
  port: number;
  /** Default `127.0.0.1`: not reachable from other machines. */
  host?: string;
}

export interface Endpoint {
  readonly url: string;
  close(): Promise<void>;
}

interface EndpointResponse {
  code: number;
  type: string;
  text: string;
}

const PLAIN_TEXT = 'text/plain; charset=utf-8';

/** Starts an HTTP server for `/healthz` and `/metrics`. Throws OPTIONS_INVALID if it cannot listen. */
export async function openEndpoint(
  { port, host = '127.0.0.1' }: EndpointOptions,
  readStatus: () => WorkerStatus,
): Promise<Endpoint> {
  const server = createServer((request, response) => {
    const { code, type, text } = respondTo(request.url, readStatus());
    response.writeHead(code, { 'content-type': type }).end(text);
  });
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  // Stays registered, because an error while the server listens (no free file descriptor) must not end the process.
  server.on('error', reject);
  server.listen(port, host, resolve);
  await listening.catch((error: Error) => {
    throw new EngineError(
      'OPTIONS_INVALID',
      `The health endpoint cannot listen on ${host}:${port}: ${error.message}. Choose another port.`,
      { cause: error },
    );
  });
  // The endpoint alone does not keep the process alive.
  server.unref();
  const { address, port: actualPort, family } = server.address() as AddressInfo;
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${actualPort}`,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}

function respondTo(url: string | undefined, status: WorkerStatus): EndpointResponse {
  const path = url?.split('?')[0];
  if (path === '/metrics')
    return { code: 200, type: 'text/plain; version=0.0.4; charset=utf-8', text: prometheusText(status) };
  if (path !== '/healthz')
    return { code: 404, type: PLAIN_TEXT, text: 'Not found. The endpoints are /healthz and /metrics.\n' };
  return { code: status.state === 'polling' ? 200 : 503, type: PLAIN_TEXT, text: `${status.state}\n` };
}
