import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { readToolFile } from './file.ts';
import { importOpenApi } from './import.ts';
import type { ImportedTools, ImportOptions } from './import.ts';
import { ServiceTools } from './service-tools.ts';

const ok = { responses: { '200': { description: 'ok' } } };

const documentOf = (more: JsonObject): JsonObject => ({
  openapi: '3.1.0',
  info: { title: 'Test', version: '1' },
  servers: [{ url: 'https://api.test/v1/' }],
  ...more,
});

async function imported(more: JsonObject, options: Partial<ImportOptions> = {}): Promise<ImportedTools> {
  return importOpenApi(documentOf(more), { name: 'svc', ...options });
}

const schemas = (value: JsonObject): JsonObject => ({ components: { schemas: value } });

/** An operation with one body. */
const posting = (schema: Json, mediaType = 'application/json'): JsonObject => ({
  paths: {
    '/x': { post: { operationId: 'x', ...ok, requestBody: { content: { [mediaType]: { schema } } } } },
  },
});

/** The schema of the body as a model gets it. */
function shownBody({ file }: ImportedTools): JsonObject {
  const schema = new ServiceTools([file]).get('svc_x')?.schema ?? {};
  const { properties, $defs } = schema as { properties: JsonObject; $defs?: JsonObject };
  return { ...(properties['body'] as JsonObject), ...($defs && { $defs }) };
}

describe('names of imported tools', () => {
  it('are those of the operations, or of method and path', async () => {
    const { file } = await imported({
      paths: {
        '/a': { get: { operationId: 'issues/list-all', ...ok }, post: { ...ok } },
        '/a/{id}': { get: { operationId: '  ', ...ok } },
      },
    });
    expect(file.tools.map(({ id }) => id)).toEqual(['svc_issues_list-all', 'svc_post_a', 'svc_get_a_id']);
  });

  it('stay the same when other operations come, and differ in more than the case of letters', async () => {
    const get = (operationId: string): JsonObject => ({ get: { operationId, ...ok } });
    const long = 'l'.repeat(100);
    const first = await imported({ paths: { '/a': get('Same'), '/b': get('same'), '/c': get(long) } });
    const ids = first.file.tools.map(({ id }) => id);
    expect(new Set(ids.map((id) => id.toLowerCase())).size).toBe(3);
    expect(ids[0]).toMatch(/^svc_Same_[0-9a-f]{8}$/);
    expect(ids.every((id) => /^[\w-]{1,64}$/.test(id))).toBe(true);
    const second = await imported({
      paths: { '/0': get('new'), '/c': get(long), '/b': get('same'), '/a': get('Same') },
    });
    expect(second.file.tools.map(({ id }) => id).slice(1)).toEqual(ids.toReversed());
  });

  it('of arguments are valid for models, and differ', async () => {
    const parameters = [
      { name: 'id', in: 'path' },
      { name: 'id', in: 'query' },
      { name: 'filter[a b]', in: 'query' },
      { name: '__proto__', in: 'query' },
      { name: 'body', in: 'query' },
      { name: 'x'.repeat(100), in: 'query' },
    ];
    const requestBody = { content: { 'application/json': {} } };
    const { file } = await imported({
      paths: { '/a/{id}': { post: { operationId: 'x', parameters, requestBody, ...ok } } },
    });
    const [tool] = file.tools;
    const names = tool?.parameters?.map(({ argument }) => argument);
    expect(names?.slice(0, 5)).toEqual(['id', 'query_id', 'filter_a_b', 'proto', 'body']);
    expect(names?.[5]).toMatch(/^(query_)?x+_[0-9a-f]{8}$/);
    expect(tool?.body?.argument).toBe('request_body');
    expect(Object.keys(tool?.arguments['properties'] as JsonObject)).toHaveLength(7);
  });
});

describe('schemas of imported tools', () => {
  it('keep references, with what they need and nothing else', async () => {
    const node = { type: 'object', properties: { next: { $ref: '#/components/schemas/Node' } } };
    const result = await imported({
      ...posting({ $ref: '#/components/schemas/Node' }),
      ...schemas({ Node: node, Other: { type: 'string' } }),
    });
    expect(result.file.$defs).toEqual({
      Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } },
    });
    expect(shownBody(result)).toEqual({ $ref: '#/$defs/Node', $defs: result.file.$defs });
    expect(result.simplified).toEqual([]);
  });

  it('are those of JSON Schema, also from OpenAPI 3.0', async () => {
    const result = await imported(
      posting({
        type: 'object',
        required: ['a', 'id', 7],
        discriminator: { propertyName: 'a' },
        xml: { name: 'x' },
        patternProperties: { '^x-': {} },
        additionalProperties: false,
        properties: {
          id: { type: 'string', readOnly: true },
          a: { type: 'string', nullable: true, enum: ['x'], example: 'x' },
          b: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
          c: { nullable: true, allOf: [{ type: 'object' }] },
          d: { type: ['string', 'null', 'date'], pattern: `^${'a'.repeat(300)}$`, format: 'uuid' },
          e: { type: 'wrong', minLength: 'x', required: true, items: [], enum: [], properties: [] },
          f: false,
        },
      }),
    );
    expect(shownBody(result)).toEqual({
      type: 'object',
      required: ['a'],
      properties: {
        a: { type: ['string', 'null'], enum: ['x', null] },
        b: { type: 'number', exclusiveMinimum: 0, maximum: 9 },
        c: { anyOf: [{ allOf: [{ type: 'object' }] }, { type: 'null' }] },
        d: { type: ['string', 'null'], format: 'uuid' },
        e: {},
        f: { not: {} },
      },
    });
  });

  it('that are too large lose their innermost parts, and the import says so', async () => {
    const wide = (child: JsonObject): JsonObject => ({
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`p${index}`, child])),
    });
    const result = await imported(posting(wide(wide(wide({ type: 'string', description: 'x'.repeat(50) })))));
    expect(result.simplified).toEqual([
      { operation: 'POST /x', reason: 'inner parts of its arguments are any value' },
    ]);
    const shown = shownBody(result) as { properties: JsonObject };
    expect(Object.keys(shown.properties)).toHaveLength(40);
    expect(shown.properties['p7']).toEqual({ type: 'object' });
    expect(JSON.stringify(shown).length).toBeLessThan(30_000);
  });

  it('that cannot be made small enough leave out their operation', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 4000 }, (_, index) => [`property${index}`, { type: 'string' }]),
    );
    const result = await imported(posting({ type: 'object', properties }));
    expect(result.file.tools).toEqual([]);
    expect(result.leftOut).toEqual([
      { operation: 'POST /x', reason: 'has arguments whose schema is larger than 30000 characters' },
    ]);
  });

  it('of parameters that many operations share are stored once', async () => {
    const values = Array.from({ length: 500 }, (_, index) => `value-${index}`);
    const parameter = { name: 'p', in: 'query', schema: { type: 'string', enum: values } };
    const paths = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `/p${index}`,
        { get: { operationId: `o${index}`, parameters: [{ $ref: '#/components/parameters/P' }], ...ok } },
      ]),
    );
    const result = await imported({ paths, components: { parameters: { P: parameter } } });
    expect(JSON.stringify(result.file).split('"value-499"')).toHaveLength(2);
    const { schema } = new ServiceTools([result.file]).get('svc_o7') ?? {};
    expect(JSON.stringify(schema)).toContain('"value-499"');
  });
});

describe('operations that cannot be tools', () => {
  it.each<[why: string, operation: JsonObject, reason: string]>([
    [
      'a body in another document',
      { requestBody: { $ref: 'other.yaml#/x' } },
      'refers to another document (other.yaml#/x)',
    ],
    [
      'a parameter that is not there',
      { parameters: [{ $ref: '#/components/parameters/None' }] },
      'refers to #/components/parameters/None, which is not in the document',
    ],
    [
      'a reference in a circle',
      { parameters: [{ $ref: '#/components/parameters/Circle' }] },
      'has a reference that leads in a circle',
    ],
    ['a prototype key', { parameters: [{ $ref: '#/constructor' }] }, 'refers to #/constructor, which is not'],
    [
      'an unknown credential',
      { security: [{ none: [] }] },
      'needs the credential "none", which the document',
    ],
    ['a digest', { security: [{ digest: [] }] }, 'needs HTTP authentication by digest'],
    ['a client certificate', { security: [{ tls: [] }] }, 'needs a credential of the type mutualTLS'],
    [
      'two credentials in one header',
      { security: [{ bearer: [], basic: [] }] },
      'needs two credentials in one header',
    ],
    [
      'a body without a type',
      { requestBody: { content: { 'x\r\ny': {} } } },
      'has a body without a usable media type',
    ],
  ])('are listed with the reason: %s', async (_why, operation, reason) => {
    const result = await imported({
      paths: { '/x': { post: { operationId: 'x', ...ok, ...operation }, get: { ...ok } } },
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
    expect(result.leftOut).toMatchObject([{ operation: 'POST /x' }]);
    expect(result.leftOut[0]?.reason).toContain(reason);
  });

  it('are those with paths that lead elsewhere, or that others share', async () => {
    const item = { get: { ...ok } };
    const { file, leftOut } = await imported({
      paths: {
        '/ok': item,
        '/a/../b': item,
        '/a/%2e%2E/b': item,
        '//evil.test\\x': item,
        'no-slash': item,
        '/same': { $ref: '#/components/pathItems/Shared' },
        '/again': { $ref: '#/components/pathItems/Shared' },
        '/trace': { trace: { ...ok } },
        '/null': null,
      },
      components: { pathItems: { Shared: item } },
    });
    expect(file.tools.map(({ path }) => path)).toEqual(['/ok', '/same']);
    expect(leftOut.map(({ operation }) => operation)).toEqual(
      [
        '* /again',
        'TRACE /trace',
        'GET /a/../b',
        'GET /a/%2e%2E/b',
        'GET //evil.test\\x',
        'GET no-slash',
      ].toSorted(byOrderOf(leftOut.map(({ operation }) => operation))),
    );
  });

  it('are not those with a schema that cannot be read: it is any value', async () => {
    const result = await imported(
      posting({ type: 'object', properties: { a: { $ref: 'other.json' }, b: { $ref: '#/nowhere' } } }),
    );
    expect(shownBody(result)).toMatchObject({
      properties: {
        a: { description: 'Any value: its schema refers to another document (other.json).' },
        b: { description: 'Any value: its schema refers to #/nowhere, which is not in the document.' },
      },
    });
  });
});

function byOrderOf(order: readonly string[]): (one: string, other: string) => number {
  return (one, other) => order.indexOf(one) - order.indexOf(other);
}

describe('servers of documents', () => {
  const at = async (servers: Json, options: Partial<ImportOptions> = {}): Promise<string | undefined> => {
    const { file } = await imported({ servers, paths: { '/x': { get: { ...ok } } } }, options);
    return file.services['svc']?.address;
  };

  it('have variables, and may be relative to the document', async () => {
    const server = {
      url: 'https://{account}.{zone}.test/{base}/',
      variables: { zone: { default: 'eu' }, base: { default: 'v2' } },
    };
    expect(await at([server])).toBeUndefined();
    expect(await at([server], { variables: { account: 'acme', zone: 'us' } })).toBe(
      'https://acme.us.test/v2',
    );
    expect(await at([{ url: '/api/v3' }])).toBeUndefined();
    expect(await at([{ url: '/api/v3' }], { source: 'https://h.test/docs/openapi.json' })).toBe(
      'https://h.test/api/v3',
    );
    expect(await at([])).toBeUndefined();
  });

  it.each([
    'file:///etc/passwd',
    'https://u:p@h.test/',
    'javascript:alert(1)',
    'https://{__proto__}.test',
    'x y',
  ])('that are no addresses on the web are unknown: %s', async (url) => {
    expect(await at([{ url }])).toBeUndefined();
  });
});

describe('documents', () => {
  it('of Swagger 2.0 are converted', async () => {
    const { file, leftOut } = await importOpenApi(
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
              ...ok,
            },
            put: {
              operationId: 'y',
              consumes: ['multipart/form-data'],
              parameters: [
                { name: 'id', in: 'path', type: 'integer', required: true },
                { name: 'file', in: 'formData', type: 'file' },
              ],
              ...ok,
            },
          },
        },
        definitions: { Thing: { type: 'object', properties: { a: { type: 'string' } } } },
        securityDefinitions: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
      },
      { name: 'svc' },
    );
    expect(leftOut).toEqual([]);
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

  const nested = (depth: number): JsonObject => {
    let value: JsonObject = {};
    for (let level = 0; level < depth; level++) value = { items: value };
    return value;
  };

  it.each<[why: string, document: unknown, message: string]>([
    ['no object', [], 'is not a JSON object'],
    ['no version', { paths: {} }, 'does not name a version'],
    ['a later version', { openapi: '4.0.0', paths: {} }, 'does not name a version'],
    ['an older version', { swagger: '1.2', paths: {} }, 'has another "swagger" than "2.0"'],
    ['no paths', { openapi: '3.0.0' }, 'has no "paths"'],
    [
      'a prototype key',
      JSON.parse('{"openapi": "3.0.0", "paths": {"__proto__": {}}}'),
      'has a key "__proto__"',
    ],
    [
      'too many levels',
      documentOf({ paths: {}, ...schemas({ A: nested(120) }) }),
      'more than 100 levels deep',
    ],
    ['a function', { openapi: '3.0.0', paths: {}, x: () => 1 }, 'is not JSON'],
    [
      'many media types',
      { swagger: '2.0', paths: {}, consumes: Array.from({ length: 60 }, (_, index) => `a/${index}`) },
      'has more than 50 entries in "consumes"',
    ],
  ])('that cannot be read are refused: %s', async (_why, document, message) => {
    await expect(importOpenApi(document, { name: 'svc' })).rejects.toMatchObject({
      code: 'OPENAPI_INVALID',
      message: expect.stringContaining(message) as string,
    });
  });

  it('are refused with a name or header that cannot be used', async () => {
    for (const options of [{ name: 'a b' }, { name: '' }, { name: 'svc', keyHeader: 'Authorization' }])
      await expect(importOpenApi(documentOf({ paths: {} }), options)).rejects.toMatchObject({
        code: 'OPTIONS_INVALID',
      });
  });

  it('that refer to themselves any number of times end', async () => {
    const double = (name: string): JsonObject => ({
      allOf: [{ $ref: `#/components/schemas/${name}` }, { $ref: `#/components/schemas/${name}` }],
    });
    const chain = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`S${index + 1}`, double(`S${index}`)]),
    );
    const result = await imported({
      ...posting({ $ref: '#/components/schemas/S60' }),
      ...schemas({ S0: { type: ['null', 'object'] }, ...chain, Self: { $ref: '#/components/schemas/Self' } }),
    });
    expect(result.file.tools.length + result.leftOut.length).toBe(1);
    const self = await imported({
      ...posting({ $ref: '#/components/schemas/Self' }),
      ...schemas({ Self: { $ref: '#/components/schemas/Self' } }),
    });
    expect(self.file.tools.length + self.leftOut.length).toBe(1);
  });

  it('do not change', async () => {
    const document = documentOf(posting({ type: 'object' }));
    const before = structuredClone(document);
    await importOpenApi(document, { name: 'svc' });
    expect(document).toEqual(before);
  });
});

describe('selections of operations', () => {
  const paths = {
    '/a': { get: { operationId: 'getA', tags: ['alpha'], ...ok }, post: { operationId: 'addA', ...ok } },
    '/b': { get: { operationId: 'getB', tags: ['beta'], ...ok }, patch: { operationId: 'setB', ...ok } },
  };

  it.each<[pattern: string, ids: string[]]>([
    ['get*', ['svc_getA', 'svc_getB']],
    ['svc_*A', ['svc_getA', 'svc_addA']],
    ['GET /b', ['svc_getB']],
    ['* /a', ['svc_getA', 'svc_addA']],
    ['tag:alpha', ['svc_getA']],
    ['.*', []],
  ])('by %s', async (pattern, ids) => {
    const { file, unselected } = await imported({ paths }, { only: [pattern] });
    expect(file.tools.map(({ id }) => id)).toEqual(ids);
    expect(unselected).toBe(4 - ids.length);
  });

  it('say which methods may be repeated, and with which key', async () => {
    const { file } = await imported({ paths }, { idempotent: ['setB'], keyHeader: 'X-Once' });
    expect(file.tools.map(({ id, idempotent, keyHeader }) => [id, idempotent, keyHeader])).toEqual([
      ['svc_getA', true, undefined],
      ['svc_addA', false, 'X-Once'],
      ['svc_getB', true, undefined],
      ['svc_setB', true, 'X-Once'],
    ]);
  });
});

describe('files of tools', () => {
  it('are read as they were written', async () => {
    const { file } = await imported(posting({ type: 'object' }));
    expect(readToolFile(JSON.parse(JSON.stringify(file)))).toEqual(file);
  });

  it.each<[why: string, change: (file: JsonObject) => unknown, message: string]>([
    ['another version', (file) => ({ ...file, version: 2 }), 'version'],
    ['an unknown key', (file) => ({ ...file, more: 1 }), 'more'],
    [
      'a tool twice',
      (file) => ({ ...file, tools: [file['tools'], file['tools']].flat() }),
      '"svc_x" is there twice',
    ],
    ['a service that is not there', (file) => ({ ...file, services: {} }), 'belongs to "svc"'],
    [
      'an address that is none',
      (file) => ({ ...file, services: { svc: { title: 'x', address: 'file:///etc' } } }),
      'services.svc.address',
    ],
    ...(['Authorization', 'Host', 'Cookie', 'X-Forwarded-For', 'a\r\nb'] as const).map(
      (name): [string, (file: JsonObject) => unknown, string] => [
        `an argument that sets the header ${JSON.stringify(name)}`,
        (file) => {
          const [tool] = file['tools'] as JsonObject[];
          const parameters = [{ argument: 'a', in: 'header', name, style: 'simple', explode: false }];
          return { ...file, tools: [{ ...tool, parameters }] };
        },
        'header that no argument may set',
      ],
    ),
    ['no object', () => null, 'the file'],
  ])('with %s are refused', async (_why, change, message) => {
    const { file } = await imported(posting({ type: 'object' }));
    const changed = change(JSON.parse(JSON.stringify(file)) as JsonObject);
    expect(() => readToolFile(changed, 'tools.json')).toThrow(message);
    expect(() => readToolFile(changed, 'tools.json')).toThrow('The file tools.json is not valid');
  });
});
