import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '@heddle/core/blocks';
import {
  importSpec,
  okResponses,
  pathsWithBody,
  componentsWithSchemas,
  modelBodySchemaOf,
} from '../../../../test/support/openapi.ts';
import { readToolFile } from './file.ts';
import type { ImportOptions } from './import.ts';
import { ServiceTools } from './service-tools.ts';

describe('names of imported tools', () => {
  it('come from the operations, or from method and path', async () => {
    const { file } = await importSpec({
      paths: {
        '/a': { get: { operationId: 'issues/list-all', ...okResponses }, post: { ...okResponses } },
        '/a/{id}': { get: { operationId: '  ', ...okResponses } },
      },
    });
    expect(file.tools.map(({ id }) => id)).toEqual(['svc_issues_list-all', 'svc_post_a', 'svc_get_a_id']);
  });

  it('stay the same when operations are added, and differ in more than the case of letters', async () => {
    const get = (operationId: string): JsonObject => ({ get: { operationId, ...okResponses } });
    const longOperationId = 'l'.repeat(100);
    const first = await importSpec({
      paths: { '/a': get('Same'), '/b': get('same'), '/c': get(longOperationId) },
    });
    const ids = first.file.tools.map(({ id }) => id);
    expect(new Set(ids.map((id) => id.toLowerCase())).size).toBe(3);
    expect(ids[0]).toMatch(/^svc_Same_[0-9a-f]{8}$/);
    expect(ids.every((id) => /^[\w-]{1,64}$/.test(id))).toBe(true);
    const second = await importSpec({
      paths: { '/0': get('new'), '/c': get(longOperationId), '/b': get('same'), '/a': get('Same') },
    });
    expect(second.file.tools.map(({ id }) => id).slice(1)).toEqual(ids.toReversed());
  });

  it('and of their arguments are valid for models, and unique', async () => {
    const parameters = [
      { name: 'id', in: 'path' },
      { name: 'id', in: 'query' },
      { name: 'filter[a b]', in: 'query' },
      { name: '__proto__', in: 'query' },
      { name: 'body', in: 'query' },
      { name: 'x'.repeat(100), in: 'query' },
    ];
    const requestBody = { content: { 'application/json': {} } };
    const { file } = await importSpec({
      paths: { '/a/{id}': { post: { operationId: 'x', parameters, requestBody, ...okResponses } } },
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
  it('keep references, with only the definitions that they need', async () => {
    const node = { type: 'object', properties: { next: { $ref: '#/components/schemas/Node' } } };
    const result = await importSpec({
      ...pathsWithBody({ $ref: '#/components/schemas/Node' }),
      ...componentsWithSchemas({ Node: node, Other: { type: 'string' } }),
    });
    expect(result.file.$defs).toEqual({
      Node: { type: 'object', properties: { next: { $ref: '#/$defs/Node' } } },
    });
    expect(modelBodySchemaOf(result)).toEqual({ $ref: '#/$defs/Node', $defs: result.file.$defs });
    expect(result.simplified).toEqual([]);
  });

  it('show models a pattern that needs backtracking, do not check it, and list the operation', async () => {
    const result = await importSpec(
      pathsWithBody({
        type: 'object',
        properties: { a: { type: 'string', pattern: '^(?=x).*$' }, b: { pattern: '^b$' } },
      }),
    );
    expect(result.simplified).toEqual([
      {
        operation: 'POST /x',
        reason: 'patterns of its arguments cannot be checked in linear time: "^(?=x).*$"',
      },
    ]);
    const [id = ''] = result.file.tools.map((tool) => tool.id);
    const loadedTool = new ServiceTools([result.file]).get(id);
    expect(JSON.stringify(loadedTool?.schema)).toContain('(Pattern, not checked: ^(?=x).*$)');
    expect(loadedTool?.problemsOf({ body: { b: 'c' } })).toContain('its pattern');
    expect(loadedTool?.problemsOf({ body: { a: 'y', b: 'b' } })).toBeUndefined();
  });

  it('are valid JSON Schema, even from OpenAPI 3.0', async () => {
    const result = await importSpec(
      pathsWithBody({
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
    expect(modelBodySchemaOf(result)).toEqual({
      type: 'object',
      patternProperties: { '^x-': {} },
      additionalProperties: false,
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

  it('that are too large lose their innermost parts, and the import reports it', async () => {
    const wideSchema = (child: JsonObject): JsonObject => ({
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`p${index}`, child])),
    });
    const result = await importSpec(
      pathsWithBody(wideSchema(wideSchema(wideSchema({ type: 'string', description: 'x'.repeat(50) })))),
    );
    expect(result.simplified).toEqual([
      { operation: 'POST /x', reason: 'inner parts of its arguments accept any value' },
    ]);
    const shownSchema = modelBodySchemaOf(result) as { properties: JsonObject };
    expect(Object.keys(shownSchema.properties)).toHaveLength(40);
    expect(shownSchema.properties['p7']).toEqual({ type: 'object' });
    expect(JSON.stringify(shownSchema).length).toBeLessThan(30_000);
  });

  it('that cannot be made small enough exclude their operation', async () => {
    const properties = Object.fromEntries(
      Array.from({ length: 4000 }, (_, index) => [`property${index}`, { type: 'string' }]),
    );
    const result = await importSpec(pathsWithBody({ type: 'object', properties }));
    expect(result.file.tools).toEqual([]);
    expect(result.skipped).toEqual([
      { operation: 'POST /x', reason: 'has arguments whose schema is larger than 30000 characters' },
    ]);
  });

  it('are stored once if many operations share a parameter', async () => {
    const values = Array.from({ length: 500 }, (_, index) => `value-${index}`);
    const parameter = { name: 'p', in: 'query', schema: { type: 'string', enum: values } };
    const paths = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `/p${index}`,
        {
          get: {
            operationId: `o${index}`,
            parameters: [{ $ref: '#/components/parameters/P' }],
            ...okResponses,
          },
        },
      ]),
    );
    const result = await importSpec({ paths, components: { parameters: { P: parameter } } });
    expect(JSON.stringify(result.file).split('"value-499"')).toHaveLength(2);
    const { schema } = new ServiceTools([result.file]).get('svc_o7') ?? {};
    expect(JSON.stringify(schema)).toContain('"value-499"');
  });
});

describe('servers of documents', () => {
  const baseUrlOf = async (
    servers: Json,
    options: Partial<ImportOptions> = {},
  ): Promise<string | undefined> => {
    const { file } = await importSpec({ servers, paths: { '/x': { get: { ...okResponses } } } }, options);
    return file.services['svc']?.address;
  };

  it('have variables, and may be relative to the document', async () => {
    const server = {
      url: 'https://{account}.{zone}.test/{base}/',
      variables: { zone: { default: 'eu' }, base: { default: 'v2' } },
    };
    expect(await baseUrlOf([server])).toBeUndefined();
    expect(await baseUrlOf([server], { variables: { account: 'acme', zone: 'us' } })).toBe(
      'https://acme.us.test/v2',
    );
    expect(await baseUrlOf([{ url: '/api/v3' }])).toBeUndefined();
    expect(await baseUrlOf([{ url: '/api/v3' }], { documentUrl: 'https://h.test/docs/openapi.json' })).toBe(
      'https://h.test/api/v3',
    );
    expect(await baseUrlOf([])).toBeUndefined();
  });

  it.each([
    'file:///etc/passwd',
    'https://u:p@h.test/',
    'javascript:alert(1)',
    'https://{__proto__}.test',
    'x y',
  ])('that are not valid HTTP URLs are unknown: %s', async (url) => {
    expect(await baseUrlOf([{ url }])).toBeUndefined();
  });
});

describe('selections of operations', () => {
  const paths = {
    '/a': {
      get: { operationId: 'getA', tags: ['alpha'], ...okResponses },
      post: { operationId: 'addA', ...okResponses },
    },
    '/b': {
      get: { operationId: 'getB', tags: ['beta'], ...okResponses },
      patch: { operationId: 'setB', ...okResponses },
    },
  };

  it.each<[pattern: string, ids: string[]]>([
    ['get*', ['svc_getA', 'svc_getB']],
    ['svc_*A', ['svc_getA', 'svc_addA']],
    ['GET /b', ['svc_getB']],
    ['* /a', ['svc_getA', 'svc_addA']],
    ['tag:alpha', ['svc_getA']],
    ['.*', []],
  ])('with the pattern %s have only the operations that match', async (pattern, ids) => {
    const { file, unselected } = await importSpec({ paths }, { only: [pattern] });
    expect(file.tools.map(({ id }) => id)).toEqual(ids);
    expect(unselected).toBe(4 - ids.length);
  });

  it('in `idempotent` make operations repeatable, and do not change the header of their idempotency key', async () => {
    const { file } = await importSpec({ paths }, { idempotent: ['setB'], keyHeader: 'X-Once' });
    expect(file.tools.map(({ id, idempotent, keyHeader }) => [id, idempotent, keyHeader])).toEqual([
      ['svc_getA', true, undefined],
      ['svc_addA', false, 'X-Once'],
      ['svc_getB', true, undefined],
      ['svc_setB', true, 'X-Once'],
    ]);
  });
});

describe('tool files', () => {
  it('are the same after writing and reading', async () => {
    const { file } = await importSpec(pathsWithBody({ type: 'object' }));
    expect(readToolFile(JSON.parse(JSON.stringify(file)))).toEqual(file);
  });

  it.each<[title: string, change: (file: JsonObject) => unknown, message: string]>([
    ['another version', (file) => ({ ...file, version: 2 }), 'version'],
    ['an unknown key', (file) => ({ ...file, more: 1 }), 'more'],
    [
      'a tool twice',
      (file) => ({ ...file, tools: [file['tools'], file['tools']].flat() }),
      '"svc_x" occurs twice',
    ],
    ['an unknown service', (file) => ({ ...file, services: {} }), 'belongs to "svc"'],
    [
      'an invalid base URL',
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
    ['null instead of an object', () => null, 'the file'],
  ])('with %s are refused', async (_title, change, message) => {
    const { file } = await importSpec(pathsWithBody({ type: 'object' }));
    const changedFile = change(JSON.parse(JSON.stringify(file)) as JsonObject);
    expect(() => readToolFile(changedFile, 'tools.json')).toThrow(message);
    expect(() => readToolFile(changedFile, 'tools.json')).toThrow('The file tools.json is not valid');
  });
});
