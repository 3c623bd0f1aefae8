import { request } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { Service } from './service.ts';

/** Opens a connection that sends headers and no body. Resolves when the server has read the headers. */
export function openIdleConnection(origin: string, path: string): Promise<Socket> {
  const { hostname, port } = new URL(origin);
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: ${hostname}`,
    'Content-Type: application/json',
    'Content-Length: 2',
    // The server responds with 100 when it has read the headers and handles the request.
    'Expect: 100-continue',
    '',
    '',
  ].join('\r\n');
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => socket.write(head));
    socket.once('data', () => resolve(socket));
    socket.on('error', reject);
  });
}

/** Starts a run with a forged Host header. Returns its `statusUrl`. */
export function startRunWithForgedHost(service: Service, path: string): Promise<string> {
  const { hostname, port } = new URL(service.url);
  return new Promise((resolve, reject) => {
    const clientRequest = request(
      {
        hostname,
        port,
        path,
        method: 'POST',
        headers: {
          Host: 'evil.example',
          'X-Forwarded-Host': 'evil.example',
          'X-API-Key': service.keyOf('admin'),
          'Content-Type': 'application/json',
        },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => {
          const { data } = JSON.parse(text) as { data: { statusUrl: string } };
          resolve(data.statusUrl);
        });
      },
    );
    clientRequest.on('error', reject);
    clientRequest.end('{"async": true}');
  });
}
