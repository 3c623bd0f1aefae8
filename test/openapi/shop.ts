import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@heddle/core';

/** A request that the server has received. */
export interface ReceivedRequest {
  method: string;
  /** Path and query of the request line. */
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

/** The response of the server; by default 200 with `{"ok": true}`. */
export interface ShopResponse {
  status?: number;
  headers?: { [name: string]: string };
  body?: string | Uint8Array;
  /** The response is sent after this resolves. */
  sendAfter?: Promise<unknown>;
}

export interface Shop {
  url: string;
  requests: ReceivedRequest[];
  close(): Promise<void>;
}

/** Starts a service that records its requests. The service does not read the OpenAPI document. */
export async function startShop(
  respond: (request: ReceivedRequest) => ShopResponse = () => ({}),
): Promise<Shop> {
  const requests: ReceivedRequest[] = [];
  const server = createServer((incomingMessage, response) => {
    const chunks: Buffer[] = [];
    incomingMessage.on('data', (chunk: Buffer) => chunks.push(chunk));
    incomingMessage.on('end', () => {
      const { method = '', url = '', headers } = incomingMessage;
      const request = { method, url, headers, body: Buffer.concat(chunks).toString('latin1') };
      requests.push(request);
      const { status = 200, headers: extraHeaders = {}, body = '{"ok": true}', sendAfter } = respond(request);
      void Promise.resolve(sendAfter).then(() => {
        response.writeHead(status, { 'content-type': 'application/json', ...extraHeaders });
        response.end(body);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const listSchema = { type: 'array', items: { type: 'string' } };
const pairSchema = { type: 'object', properties: { r: { type: 'integer' }, g: { type: 'integer' } } };
const okResponses = { '200': { description: 'ok', content: { 'application/json': {} } } };

/** Returns parameters in these styles, each named by its style, its kind, and `e` if it is exploded: `form_list_e`. */
function parametersIn(location: string, styles: readonly string[]): (JsonObject & { name: string })[] {
  return styles.flatMap((style) =>
    [true, false].flatMap((explode) =>
      Object.entries({ text: { type: 'string' }, list: listSchema, pair: pairSchema })
        .filter(([kind]) => (style === 'deepObject' ? kind === 'pair' && explode : true))
        .filter(([kind]) => !/Delimited/.test(style) || kind === 'list')
        .map(([kind, schema]) => ({
          name: `${style}_${kind}${explode ? '_e' : ''}`,
          in: location,
          required: location === 'path',
          style,
          explode,
          schema: style === 'deepObject' ? { type: 'object' } : schema,
        })),
    ),
  );
}

const pathParameters = parametersIn('path', ['simple', 'label', 'matrix']);

/** A document with every style of parameters, every kind of body, and every way to send a credential. */
export const SHOP: JsonObject = {
  openapi: '3.0.3',
  info: { title: 'Shop', version: '1' },
  servers: [
    {
      url: 'https://{region}.shop.test/v1',
      variables: { region: { default: 'eu', enum: ['eu', 'us'] } },
    },
  ],
  security: [{ token: [] }],
  tags: [{ name: 'orders' }],
  paths: {
    '/orders/{id}': {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }],
      get: { operationId: 'getOrder', summary: 'Get an order', tags: ['orders'], responses: okResponses },
      delete: {
        operationId: 'deleteOrder',
        summary: 'Cancel an order',
        tags: ['orders'],
        responses: okResponses,
      },
    },
    '/orders': {
      get: {
        operationId: 'listOrders',
        summary: 'List orders',
        tags: ['orders'],
        parameters: [
          { name: 'state', in: 'query', schema: { type: 'string', enum: ['open', 'sent'] } },
          { name: 'id', in: 'query', schema: { type: 'string' } },
        ],
        responses: okResponses,
      },
      post: {
        operationId: 'createOrder',
        summary: 'Create an order',
        description: 'Places an order for articles.',
        tags: ['orders'],
        parameters: [{ name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Order' } } },
        },
        responses: okResponses,
      },
    },
    [`/paths/${pathParameters.map(({ name }) => `{${name}}`).join('/')}`]: {
      get: { operationId: 'paths', parameters: pathParameters, responses: okResponses },
    },
    '/query': {
      get: {
        operationId: 'query',
        parameters: [
          ...parametersIn('query', ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject']),
          { name: 'reserved', in: 'query', allowReserved: true, schema: { type: 'string' } },
          { name: 'filter[name]', in: 'query', schema: { type: 'string' } },
          { name: 'json', in: 'query', content: { 'application/json': { schema: pairSchema } } },
        ],
        responses: okResponses,
      },
    },
    '/headers': {
      get: {
        operationId: 'headers',
        parameters: [
          { name: 'X-Text', in: 'header', schema: { type: 'string' } },
          { name: 'X-List', in: 'header', schema: listSchema },
          { name: 'X-Pair', in: 'header', explode: true, schema: pairSchema },
          { name: 'Authorization', in: 'header', schema: { type: 'string' } },
          { name: 'Host', in: 'header', schema: { type: 'string' } },
          { name: 'session', in: 'cookie', schema: { type: 'string' } },
        ],
        responses: okResponses,
      },
    },
    '/form': {
      post: {
        operationId: 'form',
        requestBody: {
          content: {
            'application/x-www-form-urlencoded': {
              schema: {
                type: 'object',
                properties: {
                  name: { type: 'string' },
                  tags: listSchema,
                  deep: pairSchema,
                  plain: pairSchema,
                },
              },
              encoding: { deep: { style: 'deepObject', explode: true } },
            },
          },
        },
        responses: okResponses,
      },
    },
    '/upload': {
      post: {
        operationId: 'upload',
        requestBody: {
          content: {
            'multipart/form-data': {
              schema: {
                type: 'object',
                properties: {
                  title: { type: 'string' },
                  meta: pairSchema,
                  file: { type: 'string', format: 'binary', description: 'The picture' },
                  more: { type: 'array', items: { type: 'string', format: 'binary' } },
                },
              },
              encoding: { meta: { contentType: 'application/json' } },
            },
          },
        },
        responses: okResponses,
      },
    },
    '/text': {
      put: {
        operationId: 'text',
        requestBody: { content: { 'text/plain': { schema: { type: 'string' } } } },
        responses: okResponses,
      },
    },
    '/bytes': {
      put: {
        operationId: 'bytes',
        requestBody: {
          content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
        },
        responses: okResponses,
      },
    },
    '/keys/header': { get: { operationId: 'keyHeader', security: [{ header: [] }], responses: okResponses } },
    '/keys/query': {
      get: {
        operationId: 'keyQuery',
        security: [{ query: [] }],
        parameters: [
          { name: 'api_key', in: 'query', schema: { type: 'string' } },
          { name: 'free', in: 'query', schema: { type: 'object', additionalProperties: { type: 'string' } } },
        ],
        responses: okResponses,
      },
    },
    '/keys/cookie': { get: { operationId: 'keyCookie', security: [{ cookie: [] }], responses: okResponses } },
    '/keys/basic': { get: { operationId: 'keyBasic', security: [{ basic: [] }], responses: okResponses } },
    '/keys/oauth': {
      get: { operationId: 'keyOauth', security: [{ oauth: ['orders:read'] }], responses: okResponses },
    },
    '/keys/both': {
      get: { operationId: 'keyBoth', security: [{ header: [], query: [] }], responses: okResponses },
    },
    '/keys/none': { get: { operationId: 'keyNone', security: [], responses: okResponses } },
    '/keys/optional': {
      get: { operationId: 'keyOptional', security: [{}, { token: [] }], responses: okResponses },
    },
    '/files': {
      get: { operationId: 'files', servers: [{ url: 'https://files.shop.test' }], responses: okResponses },
    },
  },
  components: {
    schemas: {
      Order: {
        type: 'object',
        required: ['article'],
        properties: {
          id: { type: 'string', readOnly: true },
          article: { type: 'string', nullable: true },
          count: { type: 'integer', minimum: 0, exclusiveMinimum: true },
          parts: { type: 'array', items: { $ref: '#/components/schemas/Order' } },
        },
      },
    },
    securitySchemes: {
      token: { type: 'http', scheme: 'bearer' },
      basic: { type: 'http', scheme: 'basic' },
      header: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
      query: { type: 'apiKey', in: 'query', name: 'api_key' },
      cookie: { type: 'apiKey', in: 'cookie', name: 'sid' },
      oauth: {
        type: 'oauth2',
        flows: { clientCredentials: { tokenUrl: 'https://shop.test/token', scopes: { 'orders:read': '' } } },
      },
    },
  },
};
