import * as z from 'zod';
import { ERROR_CODES_BY_STATUS } from './errors.ts';
import type { ErrorStatus } from './errors.ts';
import { bodyKindOf } from './http/body.ts';
import type { AnyOperation } from './operation.ts';

type OpenApiObject = { [key: string]: unknown };

const ERROR = { $ref: '#/components/schemas/Error' };
const LEGACY_ERROR = { $ref: '#/components/schemas/LegacyError' };
const JSON_TYPE = 'application/json';

/** Returns the OpenAPI 3.1 document of the operations. `baseUrl`: the origin with the base path. */
export function openApiDocument(operations: readonly AnyOperation[], baseUrl: string): OpenApiObject {
  const pathItems: { [path: string]: OpenApiObject } = {};
  for (const operation of operations) {
    (pathItems[operation.path] ??= {})[operation.method.toLowerCase()] = operationDoc(operation);
  }
  const sharedSchemas: OpenApiObject = {};
  const paths = hoistDefinitions(pathItems, sharedSchemas);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Heddle API',
      version: '2.0.0',
      description: 'Workflow definitions, their deployment, and their runs.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    security: [{ apiKey: [] }, { oauthBearer: [] }],
    tags: [...new Set(operations.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
        oauthBearer: { type: 'http', scheme: 'bearer' },
      },
      schemas: { Error: errorSchema(), LegacyError: legacyErrorSchema(), ...sharedSchemas },
    },
  };
}

/**
 * Returns the document without `$defs`, which zod writes into schemas that refer to themselves: inside the document,
 * references to `$defs` would not resolve. Adds the definitions to `sharedSchemas`; references point to
 * components.
 */
function hoistDefinitions(node: unknown, sharedSchemas: OpenApiObject): unknown {
  if (Array.isArray(node)) return node.map((item) => hoistDefinitions(item, sharedSchemas));
  if (typeof node !== 'object' || node === null) return node;
  const { $defs, ...otherKeys } = node as OpenApiObject;
  for (const [name, schema] of Object.entries($defs ?? {}))
    sharedSchemas[name] ??= hoistDefinitions(schema, sharedSchemas);
  const entries = Object.entries(otherKeys).map(([key, value]) =>
    key === '$ref' && typeof value === 'string'
      ? [key, value.replace('#/$defs/', '#/components/schemas/')]
      : [key, hoistDefinitions(value, sharedSchemas)],
  );
  return Object.fromEntries(entries);
}

function operationDoc(operation: AnyOperation): OpenApiObject {
  const { id, tag, summary, scope, role, capability, principals, body } = operation;
  return {
    operationId: id,
    tags: [tag],
    summary,
    'x-oauth-scope': scope,
    'x-minimum-role': role,
    ...(capability !== undefined && { 'x-capability': capability }),
    'x-workspace-keys': principals.includes('workspace'),
    ...(principals.includes('anonymous') && { security: [{ apiKey: [] }, { oauthBearer: [] }, {}] }),
    parameters: [...parameters(operation.params, 'path'), ...parameters(operation.query, 'query')],
    ...(body && {
      requestBody: {
        required: operation.bodyOptional !== true,
        content: contentOf(body),
      },
    }),
    responses: {
      ...successResponsesOf(operation),
      ...errorResponsesOf(operation),
      ...workflowResponses(operation),
    },
  };
}

/** Returns the content of a request body, by media type. */
function contentOf(body: z.ZodType): OpenApiObject {
  const bodyKind = bodyKindOf(body);
  if (bodyKind.kind === 'form') return { 'multipart/form-data': { schema: schemaOf(body, 'input') } };
  if (bodyKind.kind === 'json') return { [JSON_TYPE]: { schema: schemaOf(body, 'input') } };
  const types = bodyKind.types.length > 0 ? bodyKind.types : ['application/octet-stream'];
  return Object.fromEntries(types.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]));
}

function parameters(schema: z.ZodObject, location: 'path' | 'query'): OpenApiObject[] {
  const { properties = {}, required = [] } = schemaOf(schema, 'input') as {
    properties?: { [name: string]: OpenApiObject };
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: location,
    required: location === 'path' || required.includes(name),
    schema: property,
  }));
}

function successResponsesOf(operation: AnyOperation): OpenApiObject {
  const { streams = [] } = operation;
  if (operation.success.length === 0) return { 200: streamResponse(streams) };
  const responses = operation.success.map(
    ({ status, schema, isPage, description }, index): [string, OpenApiObject] => {
      const data = schemaOf(schema, 'output');
      const envelope = isPage ? pageSchema(data) : objectSchema({ data }, ['data']);
      const body = operation.legacy ? data : envelope;
      const streamTypes =
        index === 0
          ? streams.map(({ type }): [string, OpenApiObject] => [type, { schema: { type: 'string' } }])
          : [];
      const streamDescriptions =
        index === 0 ? streams.map((stream) => ` ${stream.description}.`).join('') : '';
      // A Response block of the workflow may send the first status with any media type and data.
      const allowsAnyContent = operation.workflowResponses !== undefined && index === 0;
      const jsonSchema = allowsAnyContent ? { anyOf: [body, {}] } : body;
      const content = {
        [JSON_TYPE]: { schema: jsonSchema },
        ...Object.fromEntries(streamTypes),
        ...(allowsAnyContent && ANY_CONTENT),
      };
      return [String(status), { description: `${description}.${streamDescriptions}`, content }];
    },
  );
  return Object.fromEntries(responses);
}

const ANY_CONTENT = { '*/*': { schema: {} } };

/** Describes the responses whose status, media type and body the workflow decides. */
function workflowResponses({ workflowResponses: description }: AnyOperation): OpenApiObject {
  return description === undefined
    ? {}
    : { default: { description: `${description}.`, content: ANY_CONTENT } };
}

/** Returns a successful response that is always a stream. */
function streamResponse(streams: NonNullable<AnyOperation['streams']>): OpenApiObject {
  const content = streams.map(({ type }): [string, OpenApiObject] => [
    type,
    // Content of any type can be JSON, which clients parse.
    type === '*/*' ? ANY_CONTENT[type] : { schema: { type: 'string' } },
  ]);
  const description = streams.map((stream) => `${stream.description}.`).join(' ');
  return { description, content: Object.fromEntries(content) };
}

/** Returns every error status of the operation. */
export function errorStatusesOf({ errors, body }: AnyOperation): ErrorStatus[] {
  return [...new Set<ErrorStatus>([...errors, ...(body ? [408 as const] : []), 500])];
}

function errorResponsesOf(operation: AnyOperation): OpenApiObject {
  const schema = operation.legacy ? LEGACY_ERROR : ERROR;
  return Object.fromEntries(
    errorStatusesOf(operation).map((status) => [
      String(status),
      { description: ERROR_CODES_BY_STATUS[status], content: { [JSON_TYPE]: { schema } } },
    ]),
  );
}

function pageSchema(itemSchema: OpenApiObject): OpenApiObject {
  return objectSchema(
    { data: { type: 'array', items: itemSchema }, nextCursor: { type: ['string', 'null'] } },
    ['data', 'nextCursor'],
  );
}

function errorSchema(): OpenApiObject {
  const properties = {
    code: { type: 'string', enum: [...new Set(Object.values(ERROR_CODES_BY_STATUS))] },
    message: { type: 'string' },
    details: { type: ['object', 'array'] },
  };
  return objectSchema({ error: { type: 'object', properties, required: ['code', 'message'] } }, ['error']);
}

function legacyErrorSchema(): OpenApiObject {
  return objectSchema({ error: { type: 'string' }, details: { type: ['object', 'array'] } }, ['error']);
}

function objectSchema(properties: OpenApiObject, required: string[]): OpenApiObject {
  return { type: 'object', properties, required };
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): OpenApiObject {
  const { $schema: _dialect, ...jsonSchema } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: shortenPattern,
  }) as OpenApiObject;
  return jsonSchema;
}

/** Replaces the long pattern of a timestamp: `format` says everything except that it is in UTC. */
function shortenPattern({ jsonSchema }: { jsonSchema: { format?: string; pattern?: string } }): void {
  if (jsonSchema.format === 'date-time') jsonSchema.pattern = 'Z$';
}
