import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { EngineError } from '@heddle/core';
import { formatPrometheusMetrics } from './metrics.ts';
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
  statusCode: number;
  contentType: string;
  body: string;
}

const PLAIN_TEXT = 'text/plain; charset=utf-8';

/** Starts an HTTP server for `/healthz` and `/metrics`. Throws OPTIONS_INVALID if it cannot listen. */
export async function openEndpoint(
  { port, host = '127.0.0.1' }: EndpointOptions,
  readStatus: () => WorkerStatus,
): Promise<Endpoint> {
  const server = createServer((request, response) => {
    const { statusCode, contentType, body } = createResponse(request.url, readStatus());
    response.writeHead(statusCode, { 'content-type': contentType }).end(body);
  });
  const { promise: listenPromise, resolve, reject } = Promise.withResolvers<void>();
  // Stays registered, because an error while the server listens (no free file descriptor) must not end the process.
  server.on('error', reject);
  server.listen(port, host, resolve);
  await listenPromise.catch((error: Error) => {
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
      new Promise((resolveClosed) => {
        server.close(() => resolveClosed());
        server.closeAllConnections();
      }),
  };
}

function createResponse(url: string | undefined, status: WorkerStatus): EndpointResponse {
  const path = url?.split('?')[0];
  if (path === '/metrics')
    return {
      statusCode: 200,
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
      body: formatPrometheusMetrics(status),
    };
  if (path !== '/healthz')
    return {
      statusCode: 404,
      contentType: PLAIN_TEXT,
      body: 'Not found. The paths are /healthz and /metrics.\n',
    };
  return {
    statusCode: status.state === 'polling' ? 200 : 503,
    contentType: PLAIN_TEXT,
    body: `${status.state}\n`,
  };
}
