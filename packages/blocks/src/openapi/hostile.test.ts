import { describe, expect, it } from 'vitest';
import type { JsonObject } from '@heddle/core/blocks';
import {
  documentOf,
  importSpec,
  okResponses,
  pathsWithBody,
  componentsWithSchemas,
  modelBodySchemaOf,
} from '../../../../test/support/openapi.ts';
import { importOpenApi } from './import.ts';

describe('operations that cannot be tools', () => {
  it.each<[title: string, operation: JsonObject, reason: string]>([
    [
      'with a body in another document',
      { requestBody: { $ref: 'other.yaml#/x' } },
      'refers to another document (other.yaml#/x)',
    ],
    [
      'with an unknown parameter',
      { parameters: [{ $ref: '#/components/parameters/None' }] },
      'refers to #/components/parameters/None, which is not in the document',
    ],
    [
      'with a circular reference',
      { parameters: [{ $ref: '#/components/parameters/Circle' }] },
      'has a circular reference',
    ],
    [
      'with a prototype key',
      { parameters: [{ $ref: '#/constructor' }] },
      'refers to #/constructor, which is not',
    ],
    [
      'with an unknown credential',
      { security: [{ none: [] }] },
      'needs the credential "none", which the document',
    ],
    [
      'with digest authentication',
      { security: [{ digest: [] }] },
      'needs HTTP authentication with the scheme digest',
    ],
    ['with a client certificate', { security: [{ tls: [] }] }, 'needs a credential of the type mutualTLS'],
    [
      'with two credentials in one header',
      { security: [{ bearer: [], basic: [] }] },
      'needs two credentials in one header',
    ],
    [
      'with a body without a usable type',
      { requestBody: { content: { 'x\r\ny': {} } } },
      'has a body without a usable media type',
    ],
  ])('are listed with a reason: %s', async (_title, operation, reason) => {
    const result = await importSpec({
      paths: { '/x': { post: { operationId: 'x', ...okResponses, ...operation }, get: { ...okResponses } } },
      components: {
        parameters: { Circle: { $ref: '#/components/parameters/Circle' } },
        securitySchemes: {
          digest: { type: 'http', scheme: 'digest' },
          bearer: { type: 'http', scheme: 'bearer' },
          basic: { type: 'http', scheme: 'basic' },
          tls: { type: 'mutualTLS' },
        },
      },
    });
    expect(result.file.tools.map(({ method }) => method)).toEqual(['GET']);
    expect(result.skipped).toMatchObject([{ operation: 'POST /x' }]);
    expect(result.skipped[0]?.reason).toContain(reason);
  });

  it.each<[length: number, reason: string | undefined]>([
    [32, undefined],
    [33, 'has a chain of more than 32 references'],
  ])('include those with a chain of more than 32 references: %i', async (length, reason) => {
    const link = (index: number) => ({ $ref: `#/components/parameters/P${index}` });
    const links = Array.from({ length: length - 1 }, (_, index) => [`P${index + 1}`, link(index)]);
    const { skipped } = await importSpec({
      paths: { '/x': { get: { ...okResponses, parameters: [link(length - 1)] } } },
      components: { parameters: { P0: { name: 'p', in: 'query' }, ...Object.fromEntries(links) } },
    });
    expect(skipped[0]?.reason).toBe(reason);
  });

  it('include those whose references form a cycle of any length, which is detected as soon as it closes', async () => {
    const link = (index: number) => ({ $ref: `#/components/parameters/P${index}` });
    const links = Array.from({ length: 5 }, (_, index) => [`P${index}`, link((index + 1) % 5)]);
    const { skipped } = await importSpec({
      paths: { '/x': { get: { ...okResponses, parameters: [link(0)] } } },
      components: { parameters: Object.fromEntries(links) },
    });
    expect(skipped[0]?.reason).toBe('has a circular reference');
  });

  it('include those whose path leads to another path or host, or whose path item is shared', async () => {
    const item = { get: { ...okResponses } };
    const { file, skipped } = await importSpec({
      paths: {
        '/ok': item,
        '/a/../b': item,
        '/a/%2e%2E/b': item,
        '//evil.test\\x': item,
        'no-slash': item,
        '/same': { $ref: '#/components/pathItems/Shared' },
        '/again': { $ref: '#/components/pathItems/Shared' },
        '/trace': { trace: { ...okResponses } },
        '/null': null,
      },
      components: { pathItems: { Shared: item } },
    });
    expect(file.tools.map(({ path }) => path)).toEqual(['/ok', '/same']);
    expect(skipped.map(({ operation }) => operation)).toEqual(
      [
        '* /again',
        'TRACE /trace',
        'GET /a/../b',
        'GET /a/%2e%2E/b',
        'GET //evil.test\\x',
        'GET no-slash',
      ].toSorted(byOrderOf(skipped.map(({ operation }) => operation))),
    );
  });

  it('do not include those with an unreadable schema, which becomes a schema that allows any value', async () => {
    const result = await importSpec(
      pathsWithBody({ type: 'object', properties: { a: { $ref: 'other.json' }, b: { $ref: '#/nowhere' } } }),
    );
    expect(modelBodySchemaOf(result)).toMatchObject({
      properties: {
        a: { description: 'Any value: its schema refers to another document (other.json).' },
        b: { description: 'Any value: its schema refers to #/nowhere, which is not in the document.' },
      },
    });
  });
});

function byOrderOf(order: readonly string[]): (a: string, b: string) => number {
  return (a, b) => order.indexOf(a) - order.indexOf(b);
}

describe('documents', () => {
  it('of Swagger 2.0 are converted', async () => {
    const { file, skipped } = await importOpenApi(
      {
        swagger: '2.0',
        info: { title: 'Old', version: '1' },
        ...{ host: 'old.test', basePath: '/v1', schemes: ['https'], consumes: ['application/json'] },
        paths: {
          '/x/{id}': {
            post: {
              operationId: 'x',
              parameters: [
                { name: 'id', in: 'path', type: 'integer', required: true },
                {
                  name: 'tags',
                  in: 'query',
                  type: 'array',
                  items: { type: 'string' },
                  collectionFormat: 'csv',
                },
                { name: 'body', in: 'body', schema: { $ref: '#/definitions/Thing' } },
              ],
              security: [{ key: [] }],
              ...okResponses,
            },
            put: {
              operationId: 'y',
              consumes: ['multipart/form-data'],
              parameters: [
                { name: 'id', in: 'path', type: 'integer', required: true },
                { name: 'file', in: 'formData', type: 'file' },
              ],
              ...okResponses,
            },
          },
        },
        definitions: { Thing: { type: 'object', properties: { a: { type: 'string' } } } },
        securityDefinitions: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
      },
      { name: 'svc' },
    );
    expect(skipped).toEqual([]);
    expect(file.services).toEqual({ svc: { title: 'Old', address: 'https://old.test/v1' } });
    expect(file.tools).toMatchObject([
      {
        id: 'svc_x',
        parameters: [
          { in: 'path', name: 'id' },
          { in: 'query', name: 'tags', style: 'form', explode: false },
        ],
        body: { type: 'json' },
        credential: { schemes: { key: { type: 'key', in: 'header', name: 'X-Key' } } },
      },
      { id: 'svc_y', body: { type: 'multipart', fields: { file: { file: true } } } },
    ]);
    expect(file.$defs).toEqual({ Thing: { type: 'object', properties: { a: { type: 'string' } } } });
  });

  const nestedObject = (depth: number): JsonObject => {
    let value: JsonObject = {};
    for (let level = 0; level < depth; level++) value = { items: value };
    return value;
  };

  it.each<[title: string, document: unknown, message: string]>([
    ['that are not objects', [], 'is not a JSON object'],
    ['without a version', { paths: {} }, 'does not name a version'],
    ['of a later version', { openapi: '4.0.0', paths: {} }, 'does not name a version'],
    [
      'of an older version',
      { swagger: '1.2', paths: {} },
      'has an unsupported "swagger" version: it must be "2.0"',
    ],
    ['without paths', { openapi: '3.0.0' }, 'has no "paths"'],
    [
      'with a prototype key',
      JSON.parse('{"openapi": "3.0.0", "paths": {"__proto__": {}}}'),
      'has a key "__proto__"',
    ],
    [
      'with too many levels',
      documentOf({ paths: {}, ...componentsWithSchemas({ A: nestedObject(120) }) }),
      'more than 100 levels deep',
    ],
    ['with a function', { openapi: '3.0.0', paths: {}, x: () => 1 }, 'is not JSON'],
    [
      'with many media types',
      { swagger: '2.0', paths: {}, consumes: Array.from({ length: 60 }, (_, index) => `a/${index}`) },
      'has more than 50 entries in "consumes"',
    ],
  ])('%s are refused', async (_title, document, message) => {
    await expect(importOpenApi(document, { name: 'svc' })).rejects.toMatchObject({
      code: 'OPENAPI_INVALID',
      message: expect.stringContaining(message) as string,
    });
  });

  it('are refused with an invalid service name or key header', async () => {
    for (const options of [{ name: 'a b' }, { name: '' }, { name: 'svc', keyHeader: 'Authorization' }])
      await expect(importOpenApi(documentOf({ paths: {} }), options)).rejects.toMatchObject({
        code: 'OPTIONS_INVALID',
      });
  });

  it('with circular or exponentially growing references are read in bounded time', async () => {
    const double = (name: string): JsonObject => ({
      allOf: [{ $ref: `#/components/schemas/${name}` }, { $ref: `#/components/schemas/${name}` }],
    });
    const chain = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`S${index + 1}`, double(`S${index}`)]),
    );
    const result = await importSpec({
      ...pathsWithBody({ $ref: '#/components/schemas/S60' }),
      ...componentsWithSchemas({
        S0: { type: ['null', 'object'] },
        ...chain,
        Self: { $ref: '#/components/schemas/Self' },
      }),
    });
    expect(result.file.tools.length + result.skipped.length).toBe(1);
    const self = await importSpec({
      ...pathsWithBody({ $ref: '#/components/schemas/Self' }),
      ...componentsWithSchemas({ Self: { $ref: '#/components/schemas/Self' } }),
    });
    expect(self.file.tools.length + self.skipped.length).toBe(1);
  });

  it('with more operations than a file can have need a selection', async () => {
    const paths = Object.fromEntries(
      Array.from({ length: 20_001 }, (_, index) => [`/p${index}`, { get: { operationId: `o${index}` } }]),
    );
    await expect(importSpec({ paths })).rejects.toMatchObject({
      code: 'OPENAPI_INVALID',
      message: expect.stringContaining('has more than 20000 operations: select some of them') as string,
    });
    const { file, unselected } = await importSpec({ paths }, { only: ['o7'] });
    expect([file.tools.length, unselected]).toEqual([1, 20_000]);
  });

  it('are not changed by an import', async () => {
    const document = documentOf(pathsWithBody({ type: 'object' }));
    const original = structuredClone(document);
    await importOpenApi(document, { name: 'svc' });
    expect(document).toEqual(original);
  });
});
