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
  /** Counted from 1. */
  number: number;
  path: string;
  headers: IncomingMessage['headers'];
  body: JsonObject;
}

export interface ModelServer {
  requests: ModelRequest[];
  /** Addresses for the option `services` of an engine. */
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

/** Paths of the addresses of providers. Other providers have their name and a version. */
const PATHS: { readonly [provider: string]: string } = {
  openai: '/v1',
  anthropic: '/v1',
  google: '/v1beta',
  azure: '',
  bedrock: '',
};

/** Starts a server with the interfaces of OpenAI and compatible providers, Anthropic, Google and Bedrock, streamed and not. */
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
  const given = answer(request);
  await given.after;
  if (given.status !== undefined) {
    response.writeHead(given.status, { 'content-type': 'application/json', ...given.headers });
    response.end(JSON.stringify(ERRORS[request.protocol](given.message ?? 'refused')));
    return;
  }
  if (given.whole || given.body !== undefined || !asksForStream(request))
    return sendWhole(response, request.protocol, given);
  sendStream(response, request.protocol, given);
}

function sendWhole(response: ServerResponse, protocol: Protocol, given: ModelAnswer): void {
  const body = given.body ?? JSON.stringify(wholeAnswer(protocol, given));
  response.writeHead(200, { 'content-type': given.type ?? 'application/json', ...given.headers });
  if (!given.stalls && !given.cut) return void response.end(body);
  response.write(body.slice(0, body.length / 2));
  if (given.cut) setImmediate(() => response.destroy());
}

function sendStream(response: ServerResponse, protocol: Protocol, given: ModelAnswer): void {
  const { type, events, rest } = streamOf(protocol, given);
  response.writeHead(200, { 'content-type': given.type ?? type, ...given.headers });
  for (const event of events) response.write(event);
  if (given.stalls) return;
  if (given.cut) return void setImmediate(() => response.destroy());
  if (given.ends) return void response.end();
  for (const event of rest) response.write(event);
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
  // At the top level as in Mistral's answers.
  compatible: (message) => {
    const error = { message, type: 'error', code: null, param: null };
    return { object: 'error', ...error, error };
  },
  anthropic: (message) => ({ type: 'error', error: { type: 'error', message } }),
  google: (message) => ({ error: { code: 400, message, status: 'ERROR' } }),
  bedrock: (message) => ({ message }),
};
