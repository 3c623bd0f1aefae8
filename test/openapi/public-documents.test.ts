import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { importOpenApi } from '@heddle/blocks';
import type { ImportedTools, ToolFile } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readToolFile } from '../../packages/blocks/src/openapi/file.ts';
import { requestOf } from '../../packages/blocks/src/openapi/request.ts';
import { ServiceTools } from '../../packages/blocks/src/openapi/service-tools.ts';
import { isFullRun, sample } from '../support/scale.ts';
import { fetchDocumentsPackage, unpackDocuments } from '../tools/openapi-documents.ts';

/** Public documents: file name, number of operations, number of skipped operations, number of simplified schemas. */
const DOCUMENTS: [name: string, operationCount: number, skippedCount: number, simplifiedCount: number][] = [
  ['github.com/api.github.com', 845, 0, 0],
  ['stripe.com', 452, 0, 0],
  ['kubernetes.io', 845, 0, 45],
  ['slack.com', 174, 0, 0],
  ['digitalocean.com', 290, 0, 3],
  ['twilio.com/api', 195, 0, 0],
  ['atlassian.com/jira', 499, 0, 0],
  ['box.com', 260, 0, 0],
  ['asana.com', 167, 0, 0],
  ['zoom.us', 373, 0, 1],
];

const packageFile = fetchDocumentsPackage();
const sampledDocuments = sample(DOCUMENTS, 1, 'public OpenAPI documents');
let folder = '';

beforeAll(() => {
  if (packageFile === undefined) return;
  const names = isFullRun ? undefined : sampledDocuments.map(([name]) => name);
  folder = unpackDocuments(packageFile, names);
});

afterAll(() => {
  if (folder !== '') rmSync(join(folder, '../..'), { recursive: true, force: true });
});

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace', 'query'];

/** Returns the number of operations, counted without the importer. */
function countOperations(document: { paths: { [path: string]: Json } }): number {
  const pathItems = Object.values(document.paths).filter((item) => isJsonObject(item));
  return pathItems.flatMap((item) => Object.keys(item)).filter((key) => METHODS.includes(key)).length;
}

function readDocument(path: string): { paths: { [path: string]: Json } } {
  return JSON.parse(readFileSync(path, 'utf8')) as { paths: { [path: string]: Json } };
}

/** Expects that each tool has a unique name and a schema of limited size, and sends its request to its own path. */
async function expectValidTools({ file: importedFile }: ImportedTools): Promise<void> {
  const toolFile = readToolFile(JSON.parse(JSON.stringify(importedFile)));
  const names = toolFile.tools.map(({ id }) => id);
  expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
  const tools = new ServiceTools([toolFile]);
  for (const tool of toolFile.tools) {
    expect(tool.id).toMatch(/^[\w-]{1,64}$/);
    const loadedTool = tools.get(tool.id);
    expect(JSON.stringify(loadedTool?.schema).length, tool.id).toBeLessThan(40_000);
    await expectOwnPath(tool, loadedTool?.schema ?? {});
  }
}

async function expectOwnPath(tool: ToolFile['tools'][number], schema: JsonObject): Promise<void> {
  const properties = schema['properties'] as JsonObject;
  const args = Object.fromEntries(
    Object.entries(properties).map(([name, property]) => [
      name,
      valueFor(property as JsonObject, (schema['$defs'] ?? {}) as JsonObject),
    ]),
  );
  const secret = JSON.stringify(
    Object.fromEntries(Object.keys(tool.credential?.schemes ?? {}).map((name) => [name, 'key'])),
  );
  const request = await requestOf(tool, args, {
    baseUrl: 'https://service.test/base',
    secret,
    readFile: async () => undefined,
  });
  const url = new URL(request.url);
  expect(url.origin, tool.id).toBe('https://service.test');
  expect(url.pathname, tool.id).toMatch(/^\/base\//);
  expect(url.pathname.split('/'), tool.id).toHaveLength(tool.path.split('/').length + 1);
  expect(() => new Headers(request.headers), tool.id).not.toThrow();
}

const VALUES: { [type: string]: Json } = {
  string: 'a/../b?c',
  integer: 7,
  number: 7,
  boolean: true,
  array: ['x', 'y'],
};

/**
 * Returns a value of the first type of a schema. If the schema has no type, the value is an object if the schema has
 * `properties` or `allOf`, and a string otherwise.
 */
function valueFor(schema: JsonObject, defs: JsonObject): Json {
  const reference = schema['$ref'];
  if (typeof reference === 'string') return valueFor(defs[reference.slice(8)] as JsonObject, defs);
  const [firstAlternative] = [schema['anyOf'] ?? schema['oneOf'] ?? []].flat() as JsonObject[];
  if (firstAlternative) return valueFor(firstAlternative, defs);
  const defaultType = 'properties' in schema || 'allOf' in schema ? 'object' : 'string';
  const [type = defaultType] = [schema['type']].flat() as string[];
  return VALUES[type] ?? {};
}

describe.skipIf(packageFile === undefined)('public OpenAPI documents', () => {
  it.each(sampledDocuments)(
    '%s: each of its %i operations is a valid tool, except %i',
    async (name, count, skippedCount, simplifiedCount) => {
      const document = readDocument(join(folder, `${name}.json`));
      expect(countOperations(document)).toBe(count);
      const importResult = await importOpenApi(document, { name: 'svc' });
      expect(importResult.file.tools).toHaveLength(count - skippedCount);
      expect(importResult.skipped).toHaveLength(skippedCount);
      expect(importResult.simplified).toHaveLength(simplifiedCount);
      await expectValidTools(importResult);
    },
  );
});

describe.skipIf(packageFile === undefined || !isFullRun)('all documents of a public directory', () => {
  it(
    'result in valid tools, and in a reason for each operation that is skipped',
    { timeout: 900_000 },
    async () => {
      const counts = { documents: 0, tools: 0, skipped: 0, simplified: 0 };
      const reasonCounts = new Map<string, number>();
      for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        const absolutePath = join(folder, path);
        // The two largest documents are a quarter of the total size, and cover no other cases.
        if (!path.endsWith('.json') || statSync(absolutePath).size > 20_000_000) continue;
        const document = readDocument(absolutePath);
        const importResult = await importOpenApi(document, { name: 'svc' });
        const { tools } = importResult.file;
        const skippedCount = importResult.skipped.filter(
          ({ operation }) => !operation.startsWith('* '),
        ).length;
        expect(tools.length + skippedCount, relative(folder, absolutePath)).toBeLessThanOrEqual(
          countOperations(document),
        );
        readToolFile(importResult.file, path);
        counts.documents++;
        counts.tools += tools.length;
        counts.skipped += importResult.skipped.length;
        counts.simplified += importResult.simplified.length;
        for (const { reason } of importResult.skipped) {
          expect(reason).not.toBe('');
          const maskedReason = reason.replaceAll(/"[^"]*"|\(.*|#\/.*/g, '…');
          reasonCounts.set(maskedReason, (reasonCounts.get(maskedReason) ?? 0) + 1);
        }
      }
      process.stdout.write(
        `${JSON.stringify(counts)}\n${JSON.stringify(Object.fromEntries(reasonCounts), null, 1)}\n`,
      );
      expect(counts.documents).toBeGreaterThan(2600);
      expect(counts.skipped / counts.tools).toBeLessThan(0.001);
    },
  );
});
