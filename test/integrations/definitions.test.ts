import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { blocks } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { afterAll, describe, expect, it } from 'vitest';
import { integrationOf, integrationTypes } from '../../packages/blocks/src/integrations/catalog.ts';
import { toolFileOf } from '../../packages/blocks/src/integrations/integration.ts';
import type { Argument, Integration } from '../../packages/blocks/src/integrations/integration.ts';
import { fieldsOf } from '../../packages/blocks/src/integrations/run.ts';
import { runnableTypes } from '../../packages/core/src/plan/types.ts';
import { block, workflow } from '../support/workflow.ts';

const integrations = new Map<string, Integration>();
for (const type of integrationTypes) {
  const integration = await integrationOf(type);
  if (integration) integrations.set(integration.service, integration);
}
const all = [...integrations.values()];
const calls = all.flatMap((integration) =>
  Object.entries(integration.operations).map(([operation, id]) => ({
    integration,
    operation,
    id,
    name: `${integration.service} ${operation}`,
  })),
);

/** Returns a value that matches the schema of an argument. */
function sampleOf(name: string, { schema }: Argument): Json {
  const { type, enum: choices, minimum, pattern } = schema;
  if (Array.isArray(choices)) return choices[0] ?? null;
  const [kind] = [type].flat();
  if (kind === 'integer') return (minimum as number | undefined) ?? 1;
  if (kind === 'boolean') return true;
  if (kind === 'object') return { Name: 'x' };
  if (name === 'values') return [['x', 1]];
  if (['to', 'cc', 'bcc'].includes(name)) return 'ada@example.com';
  if (name === 'pages') return [1];
  if (name === 'fileReference') return 'https://example.com/x.pdf';
  if (kind === 'array')
    return (schema['items'] as JsonObject | undefined)?.['type'] === 'object' ? [{ a: 1 }] : ['x'];
  if (typeof pattern !== 'string') return 'x y/z';
  return ['1.5', 'abcd', '12345'].find((text) => new RegExp(pattern).test(text)) ?? 'x';
}

/** Sets the value at a path such as `data.items[0].id`. */
function put(body: JsonObject, path: string, value: Json): void {
  const steps = path.split(/[.[\]]+/).filter((step) => step !== '');
  let at = body as { [key: string]: Json };
  for (const [index, step] of steps.entries()) {
    if (index === steps.length - 1) at[step] ??= value;
    else at = (at[step] ??= /^\d+$/.test(steps[index + 1] ?? '') ? [] : {}) as typeof at;
  }
}

interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: { readonly [name: string]: unknown };
  body: string;
}

const asked: Asked[] = [];
let reply: Json = null;
const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    asked.push({
      method: request.method ?? '',
      path: pathname,
      query: searchParams,
      headers: request.headers,
      body,
    });
    response.setHeader('content-type', 'application/json').end(JSON.stringify(reply));
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/base`;
const engine = await createEngine({
  blocks: blocks(),
  services: Object.fromEntries(all.map(({ service }) => [service, address])),
  credentials: Object.fromEntries(all.map(({ service }) => [service, 'the-key'])),
});
afterAll(async () => {
  await engine.close({ graceMs: 0 });
  server.close();
});

describe('definitions of integrations', () => {
  it('are valid, and each type, tool and operation is there once', () => {
    expect(
      all
        .map(({ types }) => types)
        .flat()
        .sort(),
    ).toEqual(integrationTypes.toSorted());
    const ids = all.flatMap((integration) => toolFileOf(integration).tools.map(({ id }) => id));
    expect(ids.length).toBeGreaterThan(70);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operations, tools } of all)
      expect(new Set(Object.values(operations))).toEqual(new Set(Object.keys(tools)));
  });

  it('have the types that heddle check knows', () => {
    expect(integrationTypes.filter((type) => !runnableTypes().has(type))).toEqual([]);
  });

  it('show addresses of https, or none if each account has another', () => {
    for (const { address: own, docs } of all) {
      expect(own ?? 'https://x').toMatch(/^https:\/\/[\w.]+(?:\/[\w./]*)?$/);
      expect(docs).toMatch(/^https:\/\//);
    }
  });

  it.each(calls)('send and map what they describe: $name', async ({ integration, operation, id }) => {
    const tool = integration.tools[id];
    const [type = ''] = integration.types;
    if (!tool) throw new Error(`There is no tool ${id}.`);
    const fields: JsonObject = { operation };
    const sampled = Object.entries(tool.arguments).filter(([, { fields: names }]) => names?.length !== 0);
    for (const [name, argument] of sampled)
      fields[fieldsOf(name, argument)[0] ?? name] = sampleOf(name, argument);
    const { ok, output } = { ...integration.answer, ...tool.answer };
    const body: JsonObject = {};
    const outputs = typeof output === 'string' ? { whole: output } : (output ?? {});
    if (ok !== undefined) put(body, ok, true);
    for (const path of Object.values(outputs))
      put(body, path, path === tool.paging?.items ? [{ n: 1 }] : 'value');
    if (tool.paging) put(body, tool.paging.cursor, 'next');
    reply = body;
    asked.length = 0;
    const result = await engine.execute({ workflow: workflow([block('A', type, fields)], ['Start -> A']) });
    expect(result).toMatchObject({ status: 'completed' });
    const [first] = asked;
    expect(first?.method).toBe(tool.method);
    const pattern = tool.path.replaceAll(/[.$:]/g, String.raw`\$&`).replaceAll(/\{\w+\}/g, '[^/?#]+');
    expect(first?.path).toMatch(new RegExp(`^/base${pattern}$`));
    expect(JSON.stringify([first?.headers])).toContain(
      integration.credential.type === 'basic' ? 'Basic ' : 'the-key',
    );
    expect(first?.query.toString()).not.toContain('the-key');
    // Every argument is somewhere in the request.
    const sent = JSON.stringify(first);
    for (const [name, argument] of sampled) {
      const { name: wire = name } = argument;
      const isSent = tool.path.includes(`{${wire}}`) || first?.query.has(wire) || tool.prepare !== undefined;
      if (!isSent)
        expect([
          name,
          sent.includes(String([sampleOf(name, argument)].flat()[0]).slice(0, 3)) ||
            first?.body.includes(name),
        ]).toEqual([name, true]);
    }
    // A list that never ends stops at its bound.
    expect(asked).toHaveLength(tool.paging?.pages ?? 1);
    if (typeof output === 'object')
      expect(Object.keys(result.output as object).sort()).toEqual(Object.keys(output).sort());
  });
});
