import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** A received request. */
export interface ReceivedRequest {
  method: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** Serves a handler with the signature of `fetch` on a local port until the test ends. */
export async function serveFetch(handler: (request: Request) => Promise<Response> | Response) {
  const requests: ReceivedRequest[] = [];
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const body = await buffer(incoming);
      const { method = 'GET', headers } = incoming;
      requests.push({ method, headers, body: body.toString() });
      const abortController = new AbortController();
      outgoing.once('close', () => abortController.abort());
      const request = new Request(`http://${headers.host}${incoming.url}`, {
        method,
        headers: headers as Record<string, string>,
        signal: abortController.signal,
        ...(body.length > 0 && { body: new Uint8Array(body) }),
      });
      const response = await handler(request);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      if (!response.body) return outgoing.end();
      return Readable.fromWeb(response.body as never)
        .on('error', () => outgoing.destroy())
        .pipe(outgoing);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  return { url, requests };
}
