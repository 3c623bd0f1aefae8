import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { blocks } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { afterAll, describe, expect, it } from 'vitest';
import {
  nativeIntegrationOf,
  nativeIntegrationTypes,
} from '../../packages/blocks/src/native-integrations/catalog.ts';
import { operationsOf } from '../../packages/blocks/src/native-integrations/native-integration.ts';
import type { NativeIntegration } from '../../packages/blocks/src/native-integrations/native-integration.ts';
import { integrationOf, integrationTypes } from '../../packages/blocks/src/integrations/catalog.ts';
import { toolFileOf } from '../../packages/blocks/src/integrations/integration.ts';
import type {
  Argument,
  Integration,
  IntegrationTool,
} from '../../packages/blocks/src/integrations/integration.ts';
import { fieldsOf } from '../../packages/blocks/src/integrations/arguments.ts';
import type { ArgumentDefinitions } from '../../packages/blocks/src/integrations/arguments.ts';
import { runnableTypes } from '../../packages/core/src/plan/types.ts';
import { repository } from '../docs/markdown.ts';
import { block, workflow } from '../support/workflow.ts';
import { startServices } from './services.ts';

const integrations = new Map<string, Integration>();
for (const type of integrationTypes) {
  const integration = await integrationOf(type);
  if (integration) integrations.set(integration.service, integration);
}
const integrationList = [...integrations.values()];
const operationCases = integrationList.flatMap((integration) =>
  Object.entries(integration.operations).map(([operation, id]) => ({
    integration,
    operation,
    id,
    name: `${integration.service} ${operation}`,
  })),
);

/** Values of arguments whose format their schema does not describe. */
const SAMPLES: JsonObject = {
  ...{ to: 'ada@example.com', cc: 'ada@example.com', bcc: 'ada@example.com' },
  ...{
    file: { base64: 'eA==', name: 'x.txt' },
    pages: [1],
    values: [['x', 1]],
    fileReference: 'https://example.com/x.pdf',
  },
};
const SAMPLES_BY_TYPE: { readonly [type: string]: Json } = {
  boolean: true,
  object: { Name: 'x' },
  string: 'x y/z',
};

/** Returns a value that matches the schema of an argument. */
function sampleOf(name: string, { schema }: Argument): Json {
  const { type, enum: choices, minimum = 1, pattern, items } = schema;
  if (Object.hasOwn(SAMPLES, name)) return SAMPLES[name] as Json;
  if (Array.isArray(choices)) return choices[0] ?? null;
  const [firstType] = [type].flat();
  if (name === 'filter' && firstType === 'string') return 'id=eq.1';
  if (firstType === 'integer') return minimum;
  if (firstType === 'array')
    return (items as JsonObject | undefined)?.['type'] === 'object' ? [{ a: 1 }] : ['x'];
  if (typeof pattern === 'string') return sampleMatching(new RegExp(pattern));
  return SAMPLES_BY_TYPE[firstType as string] as Json;
}

function sampleMatching(pattern: RegExp): string {
  return ['1.5', 'abcd', 'abc', '12345'].find((text) => pattern.test(text)) ?? 'x';
}

/** Sets the value at a path such as `data.items[0].id`, unless the path already has a value. */
function setDefault(body: JsonObject, path: string, value: Json): void {
  const steps = path.split(/[.[\]]+/).filter((step) => step !== '');
  let node = body as { [key: string]: Json };
  for (const [index, step] of steps.entries()) {
    if (index === steps.length - 1) node[step] ??= value;
    else node = (node[step] ??= /^\d+$/.test(steps[index + 1] ?? '') ? [] : {}) as typeof node;
  }
}

interface ReceivedRequest {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: { readonly [name: string]: unknown };
  body: string;
}

const requests: ReceivedRequest[] = [];
/** Returns the response to the request with this number, counted from 1. */
let respond: (requestNumber: number) => TestResponse = () => ({ body: null });

interface TestResponse {
  headers?: { [name: string]: string };
  body: Json;
}
const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    requests.push({
      method: request.method ?? '',
      path: pathname,
      query: searchParams,
      headers: request.headers,
      body,
    });
    const { headers = {}, body: json } = respond(requests.length);
    response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(json));
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/base`;
const engine = await createEngine({
  blocks: blocks(),
  services: Object.fromEntries(integrationList.map(({ service }) => [service, baseUrl])),
  credentials: Object.fromEntries(integrationList.map(({ service }) => [service, 'the-key'])),
});
afterAll(async () => {
  await engine.close({ graceMs: 0 });
  server.close();
});

describe('definitions of integrations', () => {
  it('are valid, and contain each type, tool and operation once', () => {
    expect(
      integrationList
        .map(({ types }) => types)
        .flat()
        .sort(),
    ).toEqual(integrationTypes.toSorted());
    const ids = integrationList.flatMap((integration) => toolFileOf(integration).tools.map(({ id }) => id));
    expect(ids.length).toBeGreaterThan(70);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { operations, tools } of integrationList)
      expect(new Set(Object.values(operations))).toEqual(new Set(Object.keys(tools)));
  });

  it('have only types that heddle check knows', () => {
    expect(
      [...integrationTypes, ...nativeIntegrationTypes].filter((type) => !runnableTypes().has(type)),
    ).toEqual([]);
  });

  it('match the generated table of required fields', async () => {
    const nativeIntegrations = await Promise.all(nativeIntegrationTypes.map(nativeIntegrationOf));
    const tableLines = (integration: Integration | NativeIntegration): string[] =>
      integration.types.map((type) =>
        requiredFieldsLine(type, { ...integration, operations: operationsOf(integration, type) }),
      );
    const lines = [...integrations.values(), ...new Set(nativeIntegrations)].flatMap((integration) =>
      integration ? tableLines(integration) : [],
    );
    const text = `${HEADER}\n${lines.toSorted().join('\n')}\n};\n`;
    await expect(text).toMatchFileSnapshot('../../packages/blocks/src/integrations/required-fields.ts');
  });

  it('have a page and a simulated or real test server for each service that has its own tests', async () => {
    const services = await startServices();
    await services.close();
    const google = ['gmail', 'google_sheets', 'google_calendar', 'google_drive'];
    const simulatedNames = ['slack', ...google, 'notion', 'github', 'linear'];
    expect(Object.keys(services.baseUrls)).toEqual(expect.arrayContaining(simulatedNames));
    for (const name of ['supabase', 'postgresql', 's3'])
      expect(existsSync(join(import.meta.dirname, `${name}.test.ts`))).toBe(true);
    for (const name of [...simulatedNames, 'supabase', 'postgresql', 's3'])
      expect(existsSync(join(repository, `docs/integrations/${name}.md`))).toBe(true);
  });

  it('have a base URL with https, or none if each account has its own', () => {
    for (const { baseUrl, docsUrl } of integrationList) {
      expect(baseUrl ?? 'https://x').toMatch(/^https:\/\/[\w.]+(?:\/[\w./]*)?$/);
      expect(docsUrl).toMatch(/^https:\/\//);
    }
  });

  it.each(operationCases)(
    'send their arguments and map their outputs: $name',
    async ({ integration, operation, id }) => {
      const tool = integration.tools[id] as IntegrationTool;
      const output = tool.answer?.output;
      const argumentsToSend = selectArgumentsToSend(tool);
      const fields = argumentsToSend.map(
        ([name, argument]) => [fieldsOf(name, argument)[0] ?? name, sampleOf(name, argument)] as const,
      );
      respond = (requestNumber) => responseOf(integration, tool, requestNumber);
      requests.length = 0;
      const [type = ''] = integration.types;
      const definition = block('A', type, { operation, ...Object.fromEntries(fields) });
      const result = await engine.execute({ workflow: workflow([definition], ['Start -> A']) });
      expect(result).toMatchObject({ status: 'completed' });
      const [firstRequest] = requests as [ReceivedRequest];
      expect(firstRequest.method).toBe(tool.method);
      const pattern = tool.path.replaceAll(/[.$:]/g, String.raw`\$&`).replaceAll(/\{\w+\}/g, '[^/?#]+');
      expect(firstRequest.path).toMatch(new RegExp(`^/base${pattern}$`));
      const { credential } = integration;
      const credentialText = credential.type === 'basic' ? 'Basic ' : 'the-key';
      const isInPath = credential.type === 'key' && credential.in === 'path';
      expect(isInPath ? firstRequest.path : JSON.stringify(firstRequest.headers)).toContain(credentialText);
      expect(firstRequest.query.toString()).not.toContain('the-key');
      for (const [name, argument] of argumentsToSend)
        expectArgumentSent(firstRequest, tool, { name, argument });
      expect(requests).toHaveLength(requestCountOf(tool));
      if (typeof output === 'object')
        expect(Object.keys(result.output as object).sort()).toEqual(Object.keys(output).sort());
    },
  );
});

const HEADER = `/**
 * The fields that operations of integrations need, by block type: \`OPERATION FIELD|OTHER …; …\`. \`OPERATION@FEATURE\`
 * is an operation that uses data of the host. Generated from the definitions: \`npm test --
 * test/integrations/definitions -u\`.
 */
export const REQUIRED_FIELDS: { readonly [type: string]: string } = {`;
const MAX_LINE_CHARS = 110;
/** The formatter does not break a line after a shorter key. */
const SHORT_KEY_CHARS = 5;

/** Returns the line of a type in the table, as the code formatter would format it. */
function requiredFieldsLine(
  type: string,
  {
    operations,
    tools,
  }: Pick<Integration, 'operations'> & {
    tools: { [id: string]: ArgumentDefinitions & { requiredFeature?: string } };
  },
): string {
  const operationTexts = Object.entries(operations).map(([operation, id]) => {
    const requiredArguments = Object.entries(tools[id]?.arguments ?? {}).filter(
      ([, { required }]) => required,
    );
    const requiredFeature = tools[id]?.requiredFeature;
    const label = requiredFeature === undefined ? operation : `${operation}@${requiredFeature}`;
    return [label, ...requiredArguments.map(([name, argument]) => fieldsOf(name, argument).join('|'))].join(
      ' ',
    );
  });
  const line = `  ${type}: '${operationTexts.join('; ')}',`;
  const isOneLine = line.length <= MAX_LINE_CHARS || type.length < SHORT_KEY_CHARS;
  return isOneLine ? line : line.replace(': ', ':\n    ');
}

/**
 * Returns the arguments of a test call. Omits the page number, because it would limit a list to one page, and the
 * content of an upload, because the call uploads a file instead.
 */
function selectArgumentsToSend({
  arguments: definedArguments,
  paging,
  upload,
}: IntegrationTool): [string, Argument][] {
  const omittedNames = [paging?.argument, upload && 'content'];
  return Object.entries(definedArguments).filter(
    ([name, { fields }]) => fields?.length !== 0 && !omittedNames.includes(name),
  );
}

/** Returns the number of requests of a call. An endless list ends at its maximum number of pages. */
function requestCountOf({ paging, upload }: IntegrationTool): number {
  return paging?.pages ?? (upload ? 2 : 1);
}

/** Returns a response with all values that the definition reads. Each page has a next page. */
function responseOf(
  { answer }: Integration,
  { answer: toolAnswer, paging, path: toolPath, upload }: IntegrationTool,
  requestNumber: number,
): TestResponse {
  if (paging?.by === 'link')
    return {
      headers: { link: `</base${toolPath.replaceAll(/[{}]/g, '')}?page=${requestNumber + 1}>; rel="next"` },
      body: [{ n: requestNumber }],
    };
  const { ok, output = {} } = { ...answer, ...toolAnswer };
  const body: JsonObject = {};
  if (ok !== undefined) setDefault(body, ok, true);
  if (paging) setNextCursor(body, paging, requestNumber);
  for (const path of typeof output === 'string' ? [output] : Object.values(output))
    setDefault(body, path, path === paging?.items ? [{ n: requestNumber }] : 'value');
  return { headers: upload ? { location: '/base/upload' } : {}, body };
}

/** Adds the cursor of the next page. */
function setNextCursor(
  body: JsonObject,
  paging: NonNullable<IntegrationTool['paging']>,
  requestNumber: number,
): void {
  if (paging.by !== undefined) return;
  const path = paging.of === 'last' ? `${paging.items}[0].${paging.cursor}` : paging.cursor;
  setDefault(body, path, `next-${requestNumber}`);
  if (paging.more !== undefined) setDefault(body, paging.more, true);
}

/** Expects that the request has the argument. Tests with simulated services cover arguments that `prepare` changes. */
function expectArgumentSent(
  { query, body }: ReceivedRequest,
  { path, prepare, answer }: IntegrationTool,
  { name, argument }: { name: string; argument: Argument },
): void {
  const { name: sentName = name } = argument;
  const namesResponseFile = name === answer?.file?.name;
  if (path.includes(`{${sentName}}`) || query.has(sentName) || prepare !== undefined || namesResponseFile)
    return;
  expect([name, body]).toEqual([name, expect.stringContaining(JSON.stringify(sampleOf(name, argument)))]);
}
