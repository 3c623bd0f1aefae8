import { beforeAll, describe, it } from 'vitest';
import type { JsonObject } from '../../packages/core/src/json.ts';
import type * as importModule from '../../packages/blocks/src/openapi/import.ts';
import type * as toolFiles from '../../packages/blocks/src/openapi/file.ts';
import type * as serviceTools from '../../packages/blocks/src/openapi/service-tools.ts';
import { sample } from '../support/scale.ts';
import { expectLinear } from './linear.ts';

type Modules = typeof importModule & typeof toolFiles & typeof serviceTools;

let modules: Modules;

beforeAll(async () => {
  modules = {
    ...(await import('../../packages/blocks/src/openapi/import.ts')),
    ...(await import('../../packages/blocks/src/openapi/file.ts')),
    ...(await import('../../packages/blocks/src/openapi/service-tools.ts')),
  };
});

const objectOf = <T>(n: number, make: (index: number) => [string, T]): { [key: string]: T } =>
  Object.fromEntries(Array.from({ length: n }, (_, index) => make(index)));

const listOf = <T>(n: number, make: (index: number) => T): T[] =>
  Array.from({ length: n }, (_, index) => make(index));

/** Returns a document with `n` operations. */
const documentWith = (
  n: number,
  createOperation: (index: number) => JsonObject,
  version = '3.0.0',
): JsonObject => ({
  ...(version === '2.0' ? { swagger: version } : { openapi: version }),
  info: { title: 'T', version: '1' },
  servers: [{ url: 'https://h.test' }],
  paths: objectOf(n, (index) => [`/p${index}`, { post: createOperation(index) }]),
});

const bodyOf = (schema: JsonObject): JsonObject => ({
  requestBody: { content: { 'application/json': { schema } } },
});

const refTo = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });

/** A long string, so that a few schemas are enough to reach the size limit. */
const LONG_TEXT = 'x'.repeat(500);

/** Documents, each with the smallest size at which the limits on a tool's schema take effect. */
const DOCUMENTS: readonly [title: string, size: number, make: (n: number) => JsonObject][] = [
  [
    'many operations',
    60,
    (n) => documentWith(n, (index) => ({ operationId: `o${index}`, ...bodyOf({ type: 'object' }) })),
  ],
  ['operations with the same name', 60, (n) => documentWith(n, () => ({ operationId: 'same' }))],
  [
    'operations that all need a long chain of schemas',
    80,
    (n) => ({
      ...documentWith(n, () => bodyOf(refTo('S0'))),
      components: {
        schemas: objectOf(n, (index) => [
          `S${index}`,
          { type: 'object', properties: { [LONG_TEXT]: refTo(`S${index + 1}`) } },
        ]),
      },
    }),
  ],
  [
    'operations that share a wide schema',
    80,
    (n) => ({
      ...documentWith(n, () => bodyOf(refTo('Wide'))),
      components: {
        schemas: {
          Wide: {
            type: 'object',
            properties: objectOf(n, (index) => [`${LONG_TEXT}${index}`, { type: 'string' }]),
          },
        },
      },
    }),
  ],
  [
    'operations that share a parameter with many values',
    6000,
    (n) => ({
      ...documentWith(n / 30, () => ({ parameters: [{ $ref: '#/components/parameters/P' }] })),
      components: {
        parameters: { P: { name: 'p', in: 'query', schema: { enum: listOf(n, (index) => `v${index}`) } } },
      },
    }),
  ],
  [
    'operations that share a body with many media types and encodings',
    200,
    (n) => ({
      ...documentWith(n, () => ({ requestBody: { $ref: '#/components/requestBodies/B' } })),
      components: {
        requestBodies: {
          B: {
            content: objectOf(n, (index) => [
              `application/x${index}`,
              { encoding: objectOf(n / 10, (index) => [`f${index}`, {}]) },
            ]),
          },
        },
      },
    }),
  ],
  [
    'operations with many security alternatives',
    200,
    (n) => ({ ...documentWith(n, () => ({})), security: listOf(n, (index) => ({ [`s${index}`]: [] })) }),
  ],
  [
    'operations with many servers, tags and responses',
    200,
    (n) => ({
      ...documentWith(n, () => ({ responses: { default: { $ref: '#/components/responses/R' } } })),
      servers: listOf(n, (index) => ({ url: `https://h${index}.test` })),
      tags: listOf(n, (index) => ({ name: `t${index}` })),
      components: { responses: { R: { content: objectOf(n, (index) => [`a/b${index}`, {}]) } } },
    }),
  ],
  [
    'a long chain of references',
    200,
    (n) => ({
      ...documentWith(n, () => ({ parameters: [{ $ref: '#/components/parameters/P0' }] })),
      components: {
        parameters: objectOf(n, (index) => [`P${index}`, { $ref: `#/components/parameters/P${index + 1}` }]),
      },
    }),
  ],
  [
    'definitions of Swagger 2.0',
    60,
    (n) => ({
      ...documentWith(
        n,
        (index) => ({ parameters: [{ name: 'b', in: 'body', schema: { $ref: `#/definitions/D${index}` } }] }),
        '2.0',
      ),
      host: 'h.test',
      definitions: objectOf(n, (index) => [`D${index}`, { type: 'object' }]),
    }),
  ],
];

describe('the import of a document takes time proportional to its size', () => {
  it.each(sample(DOCUMENTS, 3, 'shapes of OpenAPI documents'))('with %s', async (_title, size, make) => {
    await expectLinear({ size, make, run: (document) => modules.importOpenApi(document, { name: 's' }) });
  });
});

describe('tool files', () => {
  it('are read and searched in time proportional to their size', async () => {
    const { importOpenApi } = modules;
    const filesBySize = new Map<number, unknown>();
    for (const n of [8, 60, 120, 240]) {
      const document = documentWith(n, (index) => ({
        operationId: `create thing ${index}`,
        summary: 'Create a thing',
      }));
      filesBySize.set(n, (await importOpenApi(document, { name: 's' })).file);
    }
    await expectLinear({
      size: 60,
      make: (n) => filesBySize.get(n),
      run: (file) => {
        const tools = new modules.ServiceTools([file]);
        tools.search('s', 'create things', { operations: ['s_*'], tags: undefined, readOnly: false });
      },
    });
  });
});
