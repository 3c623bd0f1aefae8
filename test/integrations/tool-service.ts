import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { blocks, readToolFile } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions, RunResource } from '@heddle/engine';
import { onTestFinished } from 'vitest';
import { block, workflow } from '../support/workflow.ts';

/** A service with one tool, and an engine that calls it. */
export interface ToolService {
  engine: Engine;
  /** The base URL of the service. */
  baseUrl: string;
  /** Requests in order of arrival. */
  requests: { url: string; headers: IncomingMessage['headers'] }[];
  /** Calls the tool in a run. */
  call(args?: JsonObject): Promise<RunResource>;
}

/** Sends the response to a request. */
export type Responder = (request: { url: URL; baseUrl: string }, response: ServerResponse) => void;

/** Starts a server. Returns its origin. */
export async function startServer(
  respond: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer(respond);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Starts a service whose only tool is GET /items. `toolOverrides` overrides fields of the definition of the tool. */
export async function startToolService(
  toolOverrides: JsonObject,
  respond: Responder,
  { rate, ...options }: EngineOptions & { rate?: { calls: number; seconds: number } } = {},
): Promise<ToolService> {
  const requests: ToolService['requests'] = [];
  const origin = await startServer((request, response) => {
    requests.push({ url: request.url ?? '', headers: request.headers });
    respond({ url: new URL(request.url ?? '/', origin), baseUrl: `${origin}/api` }, response);
  });
  const baseUrl = `${origin}/api`;
  const toolFile = await readToolFile({
    version: 1,
    services: { shop: { title: 'Shop', address: baseUrl, ...(rate && { rate }) } },
    tools: [
      {
        ...{ id: 'shop_items', service: 'shop', description: 'Items', method: 'GET', path: '/items' },
        arguments: { type: 'object', properties: { at: { type: 'integer' }, name: { type: 'string' } } },
        parameters: [{ argument: 'at', in: 'query', name: 'at', style: 'form', explode: true }],
        credential: { schemes: { key: { type: 'bearer', scopes: [] } } },
        ...{ idempotent: true, readOnly: true },
        ...toolOverrides,
      },
    ],
    $defs: {},
  });
  const engine = await createEngine({
    blocks: blocks({ toolFiles: [toolFile] }),
    services: { shop: baseUrl },
    credentials: { shop: 'the-key-of-the-shop' },
    ...options,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const call = (args: JsonObject = {}) =>
    engine.execute({
      workflow: workflow([block('A', 'tool', { toolId: 'shop_items', arguments: args })], ['Start -> A']),
    });
  return { engine, baseUrl, requests, call };
}

/** Sends a response with a JSON body. */
export function sendJson(
  response: ServerResponse,
  body: unknown,
  headers: { [name: string]: string } = {},
): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}
