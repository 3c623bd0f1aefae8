import { importOpenApi } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { isEngineError, isJsonObject } from '@heddle/core/blocks';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readToolFile } from '../../packages/blocks/src/openapi/file.ts';
import { requestOf } from '../../packages/blocks/src/openapi/request.ts';
import { ServiceTools } from '../../packages/blocks/src/openapi/service-tools.ts';
import { ArgumentError } from '../../packages/blocks/src/openapi/wire.ts';
import { pickByScale } from '../support/scale.ts';
import { SHOP } from './shop.ts';

const { file } = await importOpenApi(SHOP, { name: 'shop' });
const SECRET = '{"header": "the-key", "query": "the-key"}';

const hostileText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.constantFrom(
    ...[
      '..',
      '.',
      '',
      '/',
      '\\',
      '?',
      '#',
      '&',
      '=',
      ';',
      '@',
      ':',
      '%',
      '%2e%2e',
      '%00',
      '//evil.test',
      '../..',
    ],
    ...['\r\nHost: evil.test', '\n', '\u0000', '\uDC00', 'a,b', '__proto__', 'api_key', 'constructor'],
  ),
);
const jsonValue = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    ...[hostileText, fc.double(), fc.boolean(), fc.constant(null)],
    ...[fc.array(tie('json'), { maxLength: 3 }), fc.dictionary(hostileText, tie('json'), { maxKeys: 3 })],
  ) as fc.Arbitrary<Json>,
})).json;

/** A tool, arbitrary arguments for its parameters (`knownArgs`), and arguments that it may not have (`otherArgs`). */
const toolCall = fc.constantFrom(...file.tools).chain((tool) => {
  const names = Object.keys(tool.arguments['properties'] as JsonObject);
  const knownArgs = fc.record(Object.fromEntries(names.map((name) => [name, jsonValue])), {
    requiredKeys: [],
  });
  const otherArgs = fc.dictionary(hostileText, jsonValue, { maxKeys: 2 });
  return fc.record({ tool: fc.constant(tool), knownArgs, otherArgs });
});

describe('arbitrary arguments of an operation', () => {
  it('change only the parts of a request that belong to their parameters', async () => {
    await fc.assert(
      fc.asyncProperty(toolCall, async ({ tool, knownArgs, otherArgs }) => {
        const args = { ...otherArgs, ...knownArgs } as JsonObject;
        const request = await requestOf(tool, args, {
          baseUrl: 'https://shop.test/base',
          secret: SECRET,
          readFile: async () => undefined,
        }).catch((error: unknown) => {
          if (error instanceof ArgumentError) return undefined;
          throw error;
        });
        fc.pre(request !== undefined);
        const url = new URL(request.url);
        expect(url.origin).toBe('https://shop.test');
        expect(url.hash).toBe('');
        expect(url.pathname.split('/')).toHaveLength(tool.path.split('/').length + 1);
        expect(url.pathname.startsWith('/base/')).toBe(true);
        expect(request.method).toBe(tool.method);
        const headerParameters = (tool.parameters ?? []).filter((parameter) => parameter.in === 'header');
        const standardNames = ['accept', 'content-type', 'cookie', 'authorization', 'x-api-key'];
        const allowedHeaderNames = new Set([
          ...standardNames,
          ...headerParameters.map(({ name }) => name.toLowerCase()),
        ]);
        for (const [name, headerValue] of request.headers) {
          expect(allowedHeaderNames.has(name)).toBe(true);
          expect(headerValue).toMatch(/^[\t\x20-\x7e\x80-\xff]*$/);
        }
        const credentialHeaders = request.headers.filter(
          ([name]) => name === 'authorization' || name === 'x-api-key',
        );
        expect(JSON.stringify(credentialHeaders)).toBe(JSON.stringify(credentialHeadersOf(tool.id)));
        // A tool whose key is in the query sends it once; the model cannot replace it.
        const queryKeys = url.searchParams.getAll('api_key');
        expect(queryKeys).toEqual(
          /keyQuery|keyBoth/.test(tool.id) ? [tool.id === 'shop_keyBoth' ? 'the-key' : SECRET] : queryKeys,
        );
      }),
      { numRuns: pickByScale(600, 30_000) },
    );
  });
});

/** Returns the headers with a credential for a tool of the shop. */
function credentialHeadersOf(id: string): [string, string][] {
  if (id === 'shop_keyBoth') return [['x-api-key', 'the-key']];
  if (id === 'shop_keyHeader') return [['x-api-key', SECRET]];
  if (id === 'shop_keyBasic') return [['authorization', `Basic ${Buffer.from(SECRET).toString('base64')}`]];
  return /keyNone|keyQuery|keyCookie/.test(id) ? [] : [['authorization', `Bearer ${SECRET}`]];
}

/** Returns the paths of all values in a document. */
function pathsIn(json: Json, path: (string | number)[] = []): (string | number)[][] {
  if (typeof json !== 'object' || json === null) return [path];
  const entries: [string | number, Json][] = Array.isArray(json) ? [...json.entries()] : Object.entries(json);
  return [path, ...entries.flatMap(([key, item]) => pathsIn(item, [...path, key]))];
}

const valuePaths = pathsIn(SHOP).filter((path) => path.length > 0);

function replaceAt(json: Json, path: readonly (string | number)[], replacement: Json): Json {
  const [key, ...rest] = path;
  if (key === undefined) return replacement;
  if (Array.isArray(json))
    return json.map((item, index) => (index === key ? replaceAt(item, rest, replacement) : item));
  if (!isJsonObject(json)) return json;
  return { ...json, [key]: replaceAt(json[key] ?? null, rest, replacement) };
}

const reference = fc.constantFrom(...valuePaths.filter((path) => path.length < 7)).map((path): Json => ({
  $ref: `#/${path.map((segment) => encodeURIComponent(String(segment).replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`,
}));
const mutation = fc.record({
  path: fc.constantFrom(...valuePaths),
  replacement: fc.oneof(jsonValue, reference),
});

describe('mutated OpenAPI documents', () => {
  it('result in a valid tool file, or are refused', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 4 }), async (mutations) => {
        const document = mutations.reduce<Json>(
          (json, { path, replacement }) => replaceAt(json, path, replacement),
          SHOP,
        );
        let importResult: Awaited<ReturnType<typeof importOpenApi>>;
        try {
          importResult = await importOpenApi(document, { name: 'shop' });
        } catch (error) {
          if (isEngineError(error) && error.code === 'OPENAPI_INVALID') return;
          throw error;
        }
        const tools = new ServiceTools([readToolFile(JSON.parse(JSON.stringify(importResult.file)))]);
        for (const { id } of importResult.file.tools) expect(tools.get(id)?.problemsOf({})).not.toBe('');
        for (const { operation, reason } of importResult.skipped)
          expect([operation, reason]).not.toContain('');
      }),
      { numRuns: pickByScale(150, 5000) },
    );
  });
});
