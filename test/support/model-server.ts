import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@heddle/core';
import { wholeAnswer } from './model-answer.ts';
import type { ModelAnswer, Protocol } from './model-answer.ts';
import { streamOf } from './model-streams.ts';

export type { ModelAnswer } from './model-answer.ts';

/** A request to the server. */
export interface ModelRequest {
  protocol: Protocol;
  /** The position among the requests to the server, from 1. */
  number: number;
  path: string;
  headers: IncomingMessage['headers'];
  body: JsonObject;
}

export interface ModelServer {
  requests: ModelRequest[];
  /** Base URLs for the option `services` of an engine. */
  services: { readonly [provider in (typeof SERVICES)[number]]: string };
  close(): Promise<void>;
}

/** Simulated providers; `local` is any provider that is compatible with OpenAI. */
const SERVICES = [
  'openai',
  'anthropic',
  'google',
  'mistral',
  'groq',
  'openrouter',
  'azure',
  'bedrock',
  'local',
] as const;

/** Paths of base URLs. The path of any other provider is `/NAME/v1`. */
const PATHS: { readonly [provider: string]: string } = {
  openai: '/v1',
  anthropic: '/v1',
  google: '/v1beta',
  azure: '',
  bedrock: '',
};

/** Starts a server with the APIs of OpenAI, compatible providers, Anthropic, Google and Bedrock, streamed and not. */
export async function startModelServer(answer: (request: ModelRequest) => ModelAnswer): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const server = createServer((incoming, response) => {
    void respond(incoming, response, { requests, answer });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    requests,
    services: Object.fromEntries(
      SERVICES.map((provider) => [provider, `${base}${PATHS[provider] ?? `/${provider}/v1`}`]),
    ) as ModelServer['services'],
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function respond(
  incoming: IncomingMessage,
  response: ServerResponse,
  { requests, answer }: { requests: ModelRequest[]; answer: (request: ModelRequest) => ModelAnswer },
): Promise<void> {
  let text = '';
  for await (const chunk of incoming) text += String(chunk);
  const path = incoming.url ?? '';
  const request = {
    protocol: protocolOf(path),
    number: requests.length + 1,
    path,
    headers: incoming.headers,
    body: JSON.parse(text) as JsonObject,
  };
  requests.push(request);
  const reply = answer(request);
  await reply.after;
  if (reply.status !== undefined) {
    response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers });
    response.end(JSON.stringify(ERRORS[request.protocol](reply.message ?? 'refused')));
    return;
  }
  if (reply.whole || reply.body !== undefined || !asksForStream(request))
    return sendWhole(response, request.protocol, reply);
  sendStream(response, request.protocol, reply);
}

function sendWhole(response: ServerResponse, protocol: Protocol, reply: ModelAnswer): void {
  const body = reply.body ?? JSON.stringify(wholeAnswer(protocol, reply));
  response.writeHead(200, { 'content-type': reply.type ?? 'application/json', ...reply.headers });
  if (!reply.stalls && !reply.disconnects) return void response.end(body);
  response.write(body.slice(0, body.length / 2));
  if (reply.disconnects) setImmediate(() => response.destroy());
}

function sendStream(response: ServerResponse, protocol: Protocol, reply: ModelAnswer): void {
  const { type, events, finalEvents } = streamOf(protocol, reply);
  response.writeHead(200, { 'content-type': reply.type ?? type, ...reply.headers });
  for (const event of events) response.write(event);
  if (reply.stalls) return;
  if (reply.disconnects) return void setImmediate(() => response.destroy());
  if (reply.endsEarly) return void response.end();
  for (const event of finalEvents) response.write(event);
  response.end();
}

function asksForStream({ path, body }: ModelRequest): boolean {
  return body['stream'] === true || /:streamGenerateContent|\/converse-stream/.test(path);
}

function protocolOf(url: string): Protocol {
  const [path = ''] = url.split('?');
  if (/:(?:streamGenerateContent|generateContent)$/.test(path)) return 'google';
  if (/\/converse(?:-stream)?$/.test(path)) return 'bedrock';
  if (path.endsWith('/messages')) return 'anthropic';
  return path.endsWith('/chat/completions') ? 'compatible' : 'openai';
}

const ERRORS: Record<Protocol, (message: string) => JsonObject> = {
  openai: (message) => ({ error: { message, type: 'error', code: null, param: null } }),
  // Mistral has the fields of the error at the top level.
  compatible: (message) => {
    const error = { message, type: 'error', code: null, param: null };
    return { object: 'error', ...error, error };
  },
  anthropic: (message) => ({ type: 'error', error: { type: 'error', message } }),
  google: (message) => ({ error: { code: 400, message, status: 'ERROR' } }),
  bedrock: (message) => ({ message }),
};
