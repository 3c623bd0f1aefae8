import http, { type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import { env } from 'node:process';
import { urlToHttpOptions } from 'node:url';

/**
 * Loaded before npm and before every Node.js that it starts: what they request goes to the proxy of the host, over a socket,
 * as a plain request for the whole URL. The host connects, encrypts and adds credentials.
 */

type Answered = (response: IncomingMessage) => void;
type RequestTarget = string | URL | RequestOptions;

const socketPath = env['HEDDLE_REGISTRY'] ?? '';
const send = http.request;
/** Of its own, since clients bring agents that would connect. */
const agent = new http.Agent({ keepAlive: true, maxSockets: 15 });

function urlOf({ protocol, hostname, host, port, path }: RequestOptions, usual: string): string {
  const name = hostname ?? host ?? 'localhost';
  const at = port === undefined || port === null || port === '' ? '' : `:${port}`;
  return `${protocol ?? usual}//${name.includes(':') && !name.startsWith('[') ? `[${name}]` : name}${at}${path ?? '/'}`;
}

/** `http.request` or `https.request` by its protocol. */
function through(usual: string) {
  return (
    place: RequestTarget,
    more?: RequestOptions | Answered,
    answered?: Answered,
  ): http.ClientRequest => {
    const given = typeof more === 'object' ? more : {};
    const asked =
      typeof place === 'string' || place instanceof URL
        ? { ...urlToHttpOptions(new URL(place)), ...given }
        : place;
    // What goes to a socket of the place itself stays there.
    if (asked.socketPath !== undefined && asked.socketPath !== null) return send(asked, answered);
    const { method, headers, timeout, signal } = asked;
    const request: RequestOptions = {
      socketPath,
      agent,
      path: urlOf(asked, usual),
      method: method ?? 'GET',
      headers: headers ?? {},
      ...(timeout !== undefined && { timeout }),
      ...(signal !== undefined && { signal }),
    };
    return send(request, typeof more === 'function' ? more : answered);
  };
}

for (const [client, usual] of [
  [http, 'http:'],
  [https, 'https:'],
] as const) {
  const request = through(usual);
  Object.assign(client, {
    request,
    get: (place: RequestTarget, more?: RequestOptions | Answered, answered?: Answered) => {
      const sent = request(place, more, answered);
      sent.end();
      return sent;
    },
  });
}
syncBuiltinESMExports();
