import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@heddle/core';
import { createNonStreamingResponse } from './model-response.ts';
import type { ModelResponse, ProviderApi } from './model-response.ts';
import { streamOf } from './model-streams.ts';

export type { ModelResponse } from './model-response.ts';

/** A request to the server. */
export interface ModelRequest {
  providerApi: ProviderApi;
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
const BASE_PATHS: { readonly [provider: string]: string } = {
  openai: '/v1',
  anthropic: '/v1',
  google: '/v1beta',
  azure: '',
  bedrock: '',
};

/**
 * Starts a server with the APIs of OpenAI, compatible providers, Anthropic, Google and Bedrock, with and without
 * streaming.
 */
export async function startModelServer(
  answer: (request: ModelRequest) => ModelResponse,
): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const server = createServer((incoming, response) => {
    void respond(incoming, response, { requests, answer });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    requests,
    services: Object.fromEntries(
      SERVICES.map((provider) => [provider, `${base}${BASE_PATHS[provider] ?? `/${provider}/v1`}`]),
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
  { requests, answer }: { requests: ModelRequest[]; answer: (request: ModelRequest) => ModelResponse },
): Promise<void> {
  let text = '';
  for await (const chunk of incoming) text += String(chunk);
  const path = incoming.url ?? '';
  const request = {
    providerApi: providerApiOf(path),
    number: requests.length + 1,
    path,
    headers: incoming.headers,
    body: JSON.parse(text) as JsonObject,
  };
  requests.push(request);
  const modelResponse = answer(request);
  await modelResponse.sendAfter;
  if (modelResponse.status !== undefined) {
    response.writeHead(modelResponse.status, {
      'content-type': 'application/json',
      ...modelResponse.headers,
    });
    response.end(
      JSON.stringify(ERROR_BODY_BUILDERS[request.providerApi](modelResponse.message ?? 'refused')),
    );
    return;
  }
  if (modelResponse.isNonStreaming || modelResponse.body !== undefined || !asksForStream(request))
    return sendNonStreaming(response, request.providerApi, modelResponse);
  sendStream(response, request.providerApi, modelResponse);
}

function sendNonStreaming(
  response: ServerResponse,
  providerApi: ProviderApi,
  modelResponse: ModelResponse,
): void {
  const body = modelResponse.body ?? JSON.stringify(createNonStreamingResponse(providerApi, modelResponse));
  response.writeHead(200, {
    'content-type': modelResponse.type ?? 'application/json',
    ...modelResponse.headers,
  });
  if (!modelResponse.stalls && !modelResponse.disconnects) return void response.end(body);
  response.write(body.slice(0, body.length / 2));
  if (modelResponse.disconnects) setImmediate(() => response.destroy());
}

function sendStream(response: ServerResponse, providerApi: ProviderApi, modelResponse: ModelResponse): void {
  const { contentType, events, finalEvents } = streamOf(providerApi, modelResponse);
  response.writeHead(200, { 'content-type': modelResponse.type ?? contentType, ...modelResponse.headers });
  for (const event of events) response.write(event);
  if (modelResponse.stalls) return;
  if (modelResponse.disconnects) return void setImmediate(() => response.destroy());
  if (modelResponse.endsEarly) return void response.end();
  for (const event of finalEvents) response.write(event);
  response.end();
}

function asksForStream({ path, body }: ModelRequest): boolean {
  return body['stream'] === true || /:streamGenerateContent|\/converse-stream/.test(path);
}

function providerApiOf(url: string): ProviderApi {
  const [path = ''] = url.split('?');
  if (/:(?:streamGenerateContent|generateContent)$/.test(path)) return 'google';
  if (/\/converse(?:-stream)?$/.test(path)) return 'bedrock';
  if (path.endsWith('/messages')) return 'anthropic';
  return path.endsWith('/chat/completions') ? 'compatible' : 'openai';
}

const ERROR_BODY_BUILDERS: Record<ProviderApi, (message: string) => JsonObject> = {
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
