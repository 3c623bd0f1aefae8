import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { blocks } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { onTestFinished } from 'vitest';
import { block, workflow } from '../support/workflow.ts';

/** Opens an engine whose workflows belong to the tenant `mine`. */
export async function openTenantEngine(options: EngineOptions = {}): Promise<Engine> {
  const engine = await createEngine({
    blocks: blocks(),
    tenant: () => 'mine',
    onError: () => undefined,
    ...options,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine;
}

/** Returns a file for the input of a run. */
export const createInputFile = (name: string, content: string | Uint8Array, type = 'text/plain'): Json => ({
  type: 'file',
  name,
  data: `data:${type};base64,${Buffer.from(content).toString('base64')}`,
});

const START_FIELDS = { inputFormat: [{ name: 'docs', type: 'file[]' }] };

/** Runs a workflow with one block of this type. The block can read the files `docs` at `<start.docs>`. */
export async function runBlock(engine: Engine, type: string, fields: JsonObject, docs?: Json[]) {
  const source = { workflow: workflow([block('A', type, fields)], ['Start -> A'], START_FIELDS) };
  const input = docs ? await engine.storeFiles(source, { docs }) : {};
  return engine.execute(source, input);
}

/** Starts a web server that serves `pages` by path. Also returns engine options that allow requests to the server. */
export async function startWebServer(pages: { [path: string]: string | Uint8Array }) {
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  const server = createServer((request, response) => {
    const { url: path = '', headers } = request;
    requests.push({ path, headers });
    const page = Object.hasOwn(pages, path) ? pages[path] : undefined;
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/plain' });
    response.end(page ?? 'not here');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: `http://${host}`, requests, egressOptions: { egress: { exceptions: [host] } } };
}
