import { createHash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import type {
  Client,
  InMemoryResponseCacheStore,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import type { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { JsonObject } from '@heddle/core/blocks';
import type { HttpClient } from '@heddle/engine';
import { compileThirdPartySchema } from '../agent/json-schema.ts';
import { toFetch } from '../models/http.ts';
import type { McpServerOptions } from '../options.ts';
import type { McpServer } from './server.ts';

const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
const MAX_PAGES = 10;
const CACHE_TTL_MS = 60_000;
const MAX_CACHES = 100;
/** Time limit of one call; a block with a shorter timeout ends it earlier. */
export const CALL_TIMEOUT_MS = 300_000;
/** Time limit of connecting, of subscribing, and of listing tools. */
export const SETUP_TIMEOUT_MS = 30_000;
/** Time limit of ending a session. A server also drops sessions that were not ended. */
const CLOSE_TIMEOUT_MS = 1000;

type Endpoint<Key extends string> = Extract<McpServer['endpoint'], { [key in Key]: unknown }>;

/** A connection that the client has opened. */
export interface Connection {
  client: Client;
  transport: StreamableHTTPClientTransport | StdioClientTransport;
  /** True if the server has assigned a session id: then a response with status 404 means an expired session. */
  hadSession: boolean;
  /** True after the transport has ended, for example because the program has exited. */
  isClosed: boolean;
  /** Number of requests in progress. */
  pendingRequestCount: number;
  /** True: another connection has replaced this one, which is closed after its last request. */
  isReplaced: boolean;
}

/**
 * Connects to a server. Each request calls `secret` for the secret that it sends: an access token may be refreshed.
 * Throws the errors of the client.
 */
export async function connect(
  server: McpServer,
  { secret, signal }: { secret: () => string | undefined; signal: AbortSignal },
): Promise<Connection> {
  // Loaded on first use: agents without MCP servers do not need it.
  const sdk = await import('@modelcontextprotocol/client');
  const client = new sdk.Client(
    { name: 'heddle', version: '1' },
    {
      // Older servers get the handshake of the protocol versions of 2025.
      versionNegotiation: { mode: 'auto' },
      listMaxPages: MAX_PAGES,
      responseCacheStore: cacheOf(server, () => new sdk.InMemoryResponseCacheStore()),
      defaultCacheTtlMs: CACHE_TTL_MS,
      jsonSchemaValidator: { getValidator: (schema) => createOutputValidator(schema as JsonObject) },
      // Requests of the server to the client are not answered: they could use models at the operator's expense.
      inputRequired: { autoFulfill: false },
    },
  );
  const { endpoint, options } = server;
  const headers = (): { [name: string]: string } => secretHeaders(secret(), options);
  const transport = await ('command' in endpoint
    ? createStdioTransport(endpoint, options)
    : createHttpTransport(endpoint, headers));
  try {
    await client.connect(transport, { signal, timeout: SETUP_TIMEOUT_MS });
  } catch (error) {
    await client.close();
    // A client that has not connected does not end the process of its transport.
    await transport.close();
    throw error;
  }
  subscribeToChanges(client);
  const hadSession = 'sessionId' in transport && transport.sessionId !== undefined;
  const connection: Connection = {
    ...{ client, transport, hadSession, isClosed: false },
    ...{ pendingRequestCount: 0, isReplaced: false },
  };
  client.onclose = () => {
    connection.isClosed = true;
  };
  return connection;
}

/**
 * Subscribes to change notifications, on which the client invalidates its list of tools. Older servers send them
 * without a subscription. Not awaited: a server that does not answer must not delay the block.
 */
function subscribeToChanges(client: Client): void {
  if (client.getServerCapabilities()?.tools?.listChanged !== true) return;
  client.listen({ toolsListChanged: true }, { timeout: SETUP_TIMEOUT_MS }).catch(() => undefined);
}

/** Ends the session and the connection. Never rejects. */
export async function disconnect({ client, transport }: Connection): Promise<void> {
  // An error is ignored: the session then expires at the server.
  if ('terminateSession' in transport) await transport.terminateSession().catch(() => undefined);
  await client.close().catch(() => undefined);
}

/** Runs `work`. Afterwards, closes the connection if another one has replaced it and no request is in progress. */
export async function runRequest<T>(
  connection: Connection,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  connection.pendingRequestCount += 1;
  try {
    return await work(connection);
  } finally {
    connection.pendingRequestCount -= 1;
    await closeIfReplacedAndIdle(connection);
  }
}

/** Closes the connection after its last request, because a server may still answer requests in progress. */
export async function closeWhenIdle(connection: Connection): Promise<void> {
  connection.isReplaced = true;
  await closeIfReplacedAndIdle(connection);
}

async function closeIfReplacedAndIdle({
  client,
  pendingRequestCount,
  isReplaced,
}: Connection): Promise<void> {
  if (isReplaced && pendingRequestCount === 0) await client.close().catch(() => undefined);
}

async function createHttpTransport(
  { url: serverUrl, http }: Endpoint<'http'>,
  headers: () => { [name: string]: string },
): Promise<StreamableHTTPClientTransport> {
  const sdk = await import('@modelcontextprotocol/client');
  const send = toFetch(limitedClient(http));
  return new sdk.StreamableHTTPClientTransport(new URL(serverUrl), {
    fetch: (url, init) => send(url, { ...init, headers: withHeaders(init?.headers, headers()) }),
    requestInit: { redirect: 'error' },
    reconnectionOptions: {
      initialReconnectionDelay: 1000,
      maxReconnectionDelay: 5000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 2,
    },
  });
}

function withHeaders(base: RequestInit['headers'], addedHeaders: { [name: string]: string }): Headers {
  const headers = new Headers(base);
  for (const [name, value] of Object.entries(addedHeaders)) headers.set(name, value);
  return headers;
}

/** Returns the transport of a stdio server, whose process starts when the client connects. */
async function createStdioTransport(
  { command: [command, ...args] }: Endpoint<'command'>,
  options: McpServerOptions,
): Promise<StdioClientTransport> {
  const stdio = await import('@modelcontextprotocol/client/stdio');
  if (!isAbsolute(command)) throw new Error(`its command "${command}" is not an absolute path`);
  // The transport adds these variables of this process, unless `env` has them as keys.
  const unsetVariables = stdio.DEFAULT_INHERITED_ENV_VARS.map((name) => [name, undefined]);
  const env = { ...Object.fromEntries(unsetVariables), ...options.env } as Record<string, string>;
  return new stdio.StdioClientTransport({
    ...{ command, args, env, cwd: '/' },
    // Its output on stderr is not read, and could contain secrets.
    stderr: 'ignore',
    maxBufferSize: MAX_RESPONSE_BYTES,
  });
}

/** Returns the client with limits for hostile servers. */
function limitedClient(http: HttpClient): HttpClient {
  const withLimits = (request: Parameters<HttpClient['open']>[0]) => ({
    ...request,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    timeoutMs: request.method === 'DELETE' ? CLOSE_TIMEOUT_MS : CALL_TIMEOUT_MS,
  });
  return {
    fetch: (request) => http.fetch(withLimits(request)),
    open: (request) => http.open(withLimits(request)),
    checkServer: http.checkServer,
  };
}

function secretHeaders(secret: string | undefined, { header }: McpServerOptions): { [name: string]: string } {
  if (secret === undefined) return {};
  return header === undefined ? { authorization: `Bearer ${secret}` } : { [header]: secret };
}

function createOutputValidator(schema: JsonObject) {
  const problemsOf = compileThirdPartySchema(
    schema,
    (problem) => new Error(`The schema of an output ${problem}`),
  );
  return <T>(input: unknown) => {
    const problems = problemsOf(input as JsonObject);
    return problems === undefined
      ? { valid: true as const, data: input as T, errorMessage: undefined }
      : { valid: false as const, data: undefined, errorMessage: problems };
  };
}

/** Cached tool lists by server and credential, least recently used first. Change notifications invalidate them. */
const caches = new Map<string, InMemoryResponseCacheStore>();

function cacheOf(
  { name, endpoint, secret }: McpServer,
  create: () => InMemoryResponseCacheStore,
): InMemoryResponseCacheStore {
  const hash = createHash('sha256')
    .update(JSON.stringify([name, 'command' in endpoint ? endpoint.command : endpoint.url, secret ?? null]))
    .digest('hex');
  const cache = caches.get(hash) ?? create();
  caches.delete(hash);
  caches.set(hash, cache);
  const [oldestKey] = caches.keys();
  if (caches.size > MAX_CACHES && oldestKey !== undefined) caches.delete(oldestKey);
  return cache;
}
