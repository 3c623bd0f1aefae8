import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import { env } from 'node:process';
import { urlToHttpOptions } from 'node:url';

/**
 * Preloaded into npm and every Node.js process that it starts. Sends their requests over a socket to the proxy of the
 * host, as plain requests with absolute URLs. The host connects, encrypts and adds credentials.
 */

type OnResponse = (response: IncomingMessage) => void;
type RequestTarget = string | URL | RequestOptions;

const socketPath = env['HEDDLE_REGISTRY'] ?? '';
const originalRequest = http.request;
/** A separate agent, because the agents of clients would connect to the registry directly. */
const agent = new http.Agent({ keepAlive: true, maxSockets: 15 });

function urlOf({ protocol, hostname, host, port, path }: RequestOptions, defaultProtocol: string): string {
  const hostName = hostname ?? host ?? 'localhost';
  const portSuffix = port === undefined || port === null || port === '' ? '' : `:${port}`;
  return `${protocol ?? defaultProtocol}//${hostName.includes(':') && !hostName.startsWith('[') ? `[${hostName}]` : hostName}${portSuffix}${path ?? '/'}`;
}

/** Returns a replacement for `http.request` or `https.request`. */
function createProxiedRequest(defaultProtocol: string) {
  return (
    destination: RequestTarget,
    optionsOrCallback?: RequestOptions | OnResponse,
    onResponse?: OnResponse,
  ): http.ClientRequest => {
    const overrides = typeof optionsOrCallback === 'object' ? optionsOrCallback : {};
    const options =
      typeof destination === 'string' || destination instanceof URL
        ? { ...urlToHttpOptions(new URL(destination)), ...overrides }
        : destination;
    // Requests to another socket are not changed.
    if (options.socketPath !== undefined && options.socketPath !== null)
      return originalRequest(options, onResponse);
    const { method, headers, timeout, signal } = options;
    const proxiedOptions: RequestOptions = {
      socketPath,
      agent,
      path: urlOf(options, defaultProtocol),
      method: method ?? 'GET',
      headers: headers ?? {},
      ...(timeout !== undefined && { timeout }),
      ...(signal !== undefined && { signal }),
    };
    return originalRequest(
      proxiedOptions,
      typeof optionsOrCallback === 'function' ? optionsOrCallback : onResponse,
    );
  };
}

for (const [httpModule, defaultProtocol] of [
  [http, 'http:'],
  [https, 'https:'],
] as const) {
  const request = createProxiedRequest(defaultProtocol);
  Object.assign(httpModule, {
    request,
    get: (
      destination: RequestTarget,
      optionsOrCallback?: RequestOptions | OnResponse,
      onResponse?: OnResponse,
    ) => {
      const clientRequest = request(destination, optionsOrCallback, onResponse);
      clientRequest.end();
      return clientRequest;
    },
  });
}
syncBuiltinESMExports();
