import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server on this machine that sends each request back in the response. */
export interface EchoServer {
  readonly url: string;
  readonly port: number;
  /** Returns the requests so far, in order. */
  requests(): readonly EchoedRequest[];
  close(): void;
}

/** A received request. `own` is the header `x-own`, and `body` the text. */
export interface EchoedRequest {
  method: string;
  path: string;
  own: string | null;
  body: string;
}

function respond(
  { method, url: path = '', headers }: IncomingMessage,
  body: string,
  response: ServerResponse,
): void {
  if (path === '/bytes') return void response.end(Buffer.from([0, 255, 128, 10]));
  if (path === '/silent') return;
  if (path === '/moved') return void response.writeHead(302, { location: '/there' }).end();
  if (path === '/set') response.setHeader('set-cookie', 'k=v; Path=/');
  response.writeHead(path === '/no' ? 404 : 200, { 'content-type': 'application/json', 'x-own': 'yes' });
  const {
    authorization: auth = null,
    cookie = null,
    'content-type': type = null,
    'x-own': own = null,
  } = headers;
  response.end(JSON.stringify({ method, path, type, own, auth, cookie, body }));
}

/**
 * Starts an echo server. A response is JSON with the method, path, body (Base64) and some headers of the request.
 * Exceptions: `/bytes` returns bytes, `/silent` never responds, `/moved` redirects to `/there`, and `/no` has the
 * status 404. `/set` also sets a cookie.
 */
export async function startEchoServer(): Promise<EchoServer> {
  const requests: EchoedRequest[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const { method = '', url: path = '', headers } = request;
      const { 'x-own': own } = headers;
      requests.push({ method, path, own: typeof own === 'string' ? own : null, body: body.toString('utf8') });
      respond(request, body.toString('base64'), response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests: () => requests,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
