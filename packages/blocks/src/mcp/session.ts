import { createHash } from 'node:crypto';
import { isAbsolute } from 'node:path';
import type {
  CallToolResult,
  Client,
  InMemoryResponseCacheStore,
  StreamableHTTPClientTransport,
  Tool,
} from '@modelcontextprotocol/client';
import type { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { BlockError, isBlockError } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { HttpClient } from '@heddle/engine';
import type { Context } from '../define.ts';
import { compileSchema, withCheckedPatterns } from '../agent/json-schema.ts';
import { fetchOver } from '../models/http.ts';
import type { BlocksOptions, McpServerOptions } from '../options.ts';
import { isNamed } from './names.ts';

const MAX_RESPONSE_BYTES = 4 * 1024 * 1024;
const MAX_PAGES = 10;
const MAX_LISTED_TOOLS = 1000;
const CACHE_MS = 60_000;
const MAX_CACHES = 100;
/** Time of one call; a block with a shorter timeout ends it earlier. */
const CALL_MS = 300_000;
const LIST_MS = 30_000;
/** Time that the end of a session may take. The server forgets a session without its end too. */
const CLOSE_MS = 1000;

interface HttpReach {
  address: string;
  http: HttpClient;
}

interface ProgramReach {
  command: NonNullable<McpServerOptions['command']>;
}

/** A server that the operator has configured. */
interface McpServer {
  name: string;
  reach: HttpReach | ProgramReach;
  secret: string | undefined;
  options: McpServerOptions;
}

/** The sessions of one execution of a block, one for each server. Close them at its end. */
export class McpSessions {
  readonly #context: Context;
  readonly #options: BlocksOptions;
  readonly #sessions = new Map<string, Promise<McpSession>>();

  constructor(context: Context, options: BlocksOptions) {
    this.#context = context;
    this.#options = options;
  }

  /**
   * Returns the session with a server, which is opened at the first call. `credential` is the id of a stored credential.
   *
   * Throws MCP_SERVER_UNKNOWN, CREDENTIAL_UNKNOWN, MCP_FAILED.
   */
  open(name: string, credential?: string): Promise<McpSession> {
    const key = JSON.stringify([name, credential]);
    const open = this.#sessions.get(key) ?? this.#start(name, credential);
    this.#sessions.set(key, open);
    return open;
  }

  /** Ends the sessions. Never throws. */
  async close(): Promise<void> {
    const opened = await Promise.allSettled(this.#sessions.values());
    const sessions = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    await Promise.all(sessions.map((session) => session.close()));
  }

  async #start(name: string, credential: string | undefined): Promise<McpSession> {
    const server = await findServer(this.#context, { name, credential, options: this.#options });
    const session = new McpSession(this.#context, server);
    await session.connect();
    return session;
  }
}

/** A session with a server. If the server has forgotten it, a new one is started once. */
export class McpSession {
  readonly #context: Context;
  readonly #server: McpServer;
  #connection: Connection | undefined;
  #renewed = false;

  constructor(context: Context, server: McpServer) {
    this.#context = context;
    this.#server = server;
  }

  /** Whether the operator vouches for what the server says about its tools. */
  get trusted(): boolean {
    return this.#server.options.trusted === true;
  }

  /** Whether a person approves each call of an agent. */
  get requiresApproval(): boolean {
    return this.#server.options.requireApproval === true;
  }

  /** Connects to the server. Throws MCP_FAILED. */
  async connect(): Promise<void> {
    this.#connection = await this.#translated(() => connect(this.#server, this.#context.signal));
  }

  /** Returns the tools of the server that the operator allows. Lists are kept for a minute. Throws MCP_FAILED. */
  async tools(): Promise<Tool[]> {
    const { signal } = this.#context;
    const { tools } = await this.#request(({ client }) =>
      client.listTools(undefined, { signal, timeout: LIST_MS, maxTotalTimeout: LIST_MS }),
    );
    if (tools.length > MAX_LISTED_TOOLS)
      throw mcpFailed(this.#server.name, `it has more than ${MAX_LISTED_TOOLS} tools`);
    const allowed = this.#server.options.tools;
    return allowed ? tools.filter(({ name }) => allowed.includes(name)) : tools;
  }

  /** Returns the result of a call, also of one that failed at the server. Throws MCP_FAILED. */
  call(tool: Tool, args: JsonObject): Promise<CallToolResult> {
    const { signal } = this.#context;
    const options = { signal, timeout: CALL_MS, maxTotalTimeout: CALL_MS, toolDefinition: tool };
    return this.#request(({ client }) => client.callTool({ name: tool.name, arguments: args }, options));
  }

  /** Ends the session. Never throws. */
  async close(): Promise<void> {
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection) await disconnect(connection);
  }

  async #request<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return this.#translated(async () => {
      const connection = this.#connection as Connection;
      try {
        return await work(connection);
      } catch (error) {
        // The server has not looked at the request: it does not know the session.
        const isExpired = (error as { status?: unknown }).status === 404 && connection.hadSession;
        if (!isExpired || this.#renewed) throw error;
        this.#renewed = true;
        await connection.client.close();
        this.#connection = await connect(this.#server, this.#context.signal);
        return work(this.#connection);
      }
    });
  }

  async #translated<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#context.signal.throwIfAborted();
      if (isBlockError(error)) throw error;
      throw mcpFailed(this.#server.name, messageOf(error, this.#server.secret), { cause: error });
    }
  }
}

interface Connection {
  client: Client;
  transport: StreamableHTTPClientTransport | StdioClientTransport;
  hadSession: boolean;
}

async function connect(server: McpServer, signal: AbortSignal): Promise<Connection> {
  // Loaded here: agents without such servers do not need it.
  const sdk = await import('@modelcontextprotocol/client');
  const client = new sdk.Client(
    { name: 'heddle', version: '1' },
    {
      // Older servers get the handshake of 2025.
      versionNegotiation: { mode: 'auto' },
      listMaxPages: MAX_PAGES,
      responseCacheStore: cacheOf(server, () => new sdk.InMemoryResponseCacheStore()),
      defaultCacheTtlMs: CACHE_MS,
      jsonSchemaValidator: { getValidator: (schema) => boundedValidator(schema as JsonObject) },
      // Nothing that a server asks of its client is answered: it could spend the operator's models.
      inputRequired: { autoFulfill: false },
    },
  );
  const { reach } = server;
  const transport = await ('command' in reach ? processOf(reach, server.options) : overHttp(reach, server));
  try {
    await client.connect(transport, { signal, timeout: LIST_MS });
  } catch (error) {
    await client.close();
    // A client that has not connected does not end the process.
    await transport.close();
    throw error;
  }
  return { client, transport, hadSession: 'sessionId' in transport && transport.sessionId !== undefined };
}

async function overHttp(
  { address, http }: HttpReach,
  server: McpServer,
): Promise<StreamableHTTPClientTransport> {
  const sdk = await import('@modelcontextprotocol/client');
  return new sdk.StreamableHTTPClientTransport(new URL(address), {
    fetch: fetchOver(bounded(http)),
    requestInit: { headers: secretHeaders(server), redirect: 'error' },
    reconnectionOptions: {
      initialReconnectionDelay: 1000,
      maxReconnectionDelay: 5000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 2,
    },
  });
}

/** Returns the transport to a process, which the connection starts. */
async function processOf(
  { command: [command, ...args] }: ProgramReach,
  options: McpServerOptions,
): Promise<StdioClientTransport> {
  const stdio = await import('@modelcontextprotocol/client/stdio');
  if (!isAbsolute(command)) throw new Error(`its command "${command}" is not an absolute path`);
  // The transport adds variables of this process, unless they are set.
  const inherited = stdio.DEFAULT_INHERITED_ENV_VARS.map((name) => [name, undefined]);
  const env = { ...Object.fromEntries(inherited), ...options.env } as Record<string, string>;
  return new stdio.StdioClientTransport({
    ...{ command, args, env, cwd: '/' },
    // Its output on stderr is not read, and could contain secrets.
    stderr: 'ignore',
    maxBufferSize: MAX_RESPONSE_BYTES,
  });
}

async function disconnect({ client, transport }: Connection): Promise<void> {
  // A server that does not answer, or refuses, delays the block no further: the session expires there.
  if ('terminateSession' in transport) await transport.terminateSession().catch(() => undefined);
  await client.close().catch(() => undefined);
}

/** The client with limits for hostile servers. */
function bounded(http: HttpClient): HttpClient {
  const limited = (request: Parameters<HttpClient['open']>[0]) => ({
    ...request,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    timeoutMs: request.method === 'DELETE' ? CLOSE_MS : CALL_MS,
  });
  return {
    fetch: (request) => http.fetch(limited(request)),
    open: (request) => http.open(limited(request)),
    addresses: http.addresses,
  };
}

function secretHeaders({ secret, options }: McpServer): { [name: string]: string } {
  if (secret === undefined) return {};
  return options.header === undefined ? { authorization: `Bearer ${secret}` } : { [options.header]: secret };
}

function boundedValidator(schema: JsonObject) {
  const problemsOf = compileSchema(
    withCheckedPatterns(schema),
    (why) => new Error(`The schema of an output ${why}`),
  );
  return <T>(input: unknown) => {
    const problems = problemsOf(input as JsonObject);
    return problems === undefined
      ? { valid: true as const, data: input as T, errorMessage: undefined }
      : { valid: false as const, data: undefined, errorMessage: problems };
  };
}

/** Lists of tools by server and credential, the least recently used first. A change notice of the server empties its own. */
const caches = new Map<string, InMemoryResponseCacheStore>();

function cacheOf(
  { name, reach, secret }: McpServer,
  create: () => InMemoryResponseCacheStore,
): InMemoryResponseCacheStore {
  const hash = createHash('sha256')
    .update(JSON.stringify([name, 'command' in reach ? reach.command : reach.address, secret ?? null]))
    .digest('hex');
  const cache = caches.get(hash) ?? create();
  caches.delete(hash);
  caches.set(hash, cache);
  const [oldest] = caches.keys();
  if (caches.size > MAX_CACHES && oldest !== undefined) caches.delete(oldest);
  return cache;
}

interface ServerQuery {
  name: string;
  credential: string | undefined;
  options: BlocksOptions;
}

async function findServer({ services }: Context, query: ServerQuery): Promise<McpServer> {
  const { name, options } = query;
  const provider = `mcp-${name}`;
  const own = (options.mcp && Object.hasOwn(options.mcp, name) && options.mcp[name]) || {};
  const program = programOf(query, own);
  if (program) return program;
  const { address, credential, http } = isNamed(name)
    ? await services.service(provider)
    : { address: undefined, credential: undefined, http: undefined };
  if (address === undefined || !http)
    throw new BlockError(
      'MCP_SERVER_UNKNOWN',
      `There is no MCP server "${name.slice(0, 100)}". Configure it with --mcp NAME=URL or --mcp-command NAME=COMMAND.`,
      { retryable: false },
    );
  const secret = query.credential
    ? await chosenSecret(services, provider, query.credential)
    : (credential ?? (await storedSecret(services, provider)));
  return { name, reach: { address, http }, secret, options: own };
}

/** Returns the server if it is a program. Throws CREDENTIAL_UNKNOWN if an author has named a credential for it. */
function programOf({ name, credential }: ServerQuery, options: McpServerOptions): McpServer | undefined {
  const { command } = options;
  if (!command) return undefined;
  if (credential === undefined || credential === '')
    return { name, reach: { command }, secret: undefined, options };
  throw new BlockError(
    'CREDENTIAL_UNKNOWN',
    `The MCP server "${name}" is a program, which takes no stored credential.`,
    { retryable: false },
  );
}

/** Returns the secret of a credential that is meant for this server: an author could send any other one there. */
async function chosenSecret(services: Context['services'], provider: string, id: string): Promise<string> {
  const found = await services.credential({ id });
  if (found?.provider === provider) return found.secret;
  throw new BlockError(
    'CREDENTIAL_UNKNOWN',
    `The MCP server needs a stored credential of the provider "${provider}", and the one named is not.`,
    { retryable: false },
  );
}

async function storedSecret(services: Context['services'], provider: string): Promise<string | undefined> {
  const found =
    (await services.credential({ provider, type: 'oauth' })) ??
    (await services.credential({ provider, type: 'api_key' }));
  return found?.secret;
}

function mcpFailed(name: string, why: string, options: { cause?: unknown } = {}): BlockError {
  return new BlockError('MCP_FAILED', `The MCP server "${name}" cannot be used: ${why}`, {
    retryable: true,
    ...options,
  });
}

/** The beginning of a message, without the secret: a server could send it back. */
function messageOf(error: unknown, secret: string | undefined): string {
  const message = error instanceof Error ? error.message : String(error);
  const shown = secret === undefined ? message : message.replaceAll(secret, '[secret]');
  return shown.slice(0, 500);
}
