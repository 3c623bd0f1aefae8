import type { CallToolResult, Progress, Tool } from '@modelcontextprotocol/client';
import { BlockError, isBlockError } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import type { BlocksOptions } from '../options.ts';
import {
  CALL_TIMEOUT_MS,
  connect,
  disconnect,
  SETUP_TIMEOUT_MS,
  closeWhenIdle,
  runRequest,
} from './connection.ts';
import type { Connection } from './connection.ts';
import { findServer } from './server.ts';
import type { McpServer } from './server.ts';

const MAX_LISTED_TOOLS = 1000;
/** Minimum interval between progress reports. Reports that arrive sooner are dropped: a server may send any number. */
const PROGRESS_INTERVAL_MS = 100;
const MAX_PROGRESS_CHARS = 500;

/**
 * Returns the session with a server. The blocks of the run share it. `credential` is the id of a stored credential.
 *
 * Throws MCP_SERVER_UNKNOWN, CREDENTIAL_UNKNOWN, MCP_FAILED.
 */
export async function openSession(
  context: Context,
  options: BlocksOptions,
  { name, credential }: { name: string; credential?: string | undefined },
): Promise<McpSession> {
  const server = await findServer(context, { name, credentialId: credential, options });
  const key = JSON.stringify(['mcp', name, credential ?? null]);
  const sharedSession = await withMcpErrors(context, server, () =>
    context.services.connection(key, () => SharedSession.open(server, context.signal)),
  );
  sharedSession.secret = server.secret;
  return new McpSession(context, server, sharedSession);
}

/** A run's session with a server. If the server no longer knows the session, all requests share one new session. */
class SharedSession {
  /** The secret of the block that used the session last: an access token may have been refreshed. */
  secret: string | undefined;
  readonly #server: McpServer;
  #connection: Connection | undefined;
  #renewal: Promise<Connection> | undefined;

  private constructor(server: McpServer) {
    this.#server = server;
    this.secret = server.secret;
  }

  static async open(server: McpServer, signal: AbortSignal): Promise<SharedSession> {
    const session = new SharedSession(server);
    session.#connection = await session.#connect(signal);
    return session;
  }

  /** Calls `work` with the connection. If the server no longer knows the session, calls it again with a new one. */
  async request<T>(signal: AbortSignal, work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.#openConnection(signal);
    try {
      return await runRequest(connection, work);
    } catch (error) {
      // Status 404: the server does not know the session, so it has not processed the request.
      const isExpired = (error as { status?: unknown }).status === 404 && connection.hadSession;
      if (!isExpired) throw error;
      return runRequest(await this.#replaceConnection(connection, signal), work);
    }
  }

  async close(): Promise<void> {
    await this.#renewal?.catch(() => undefined);
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection) await disconnect(connection);
  }

  /**
   * Returns an open connection, a new one if necessary: a stdio server may have exited, or the block that was renewing
   * the session may have been stopped.
   */
  async #openConnection(signal: AbortSignal): Promise<Connection> {
    while (this.#renewal) await this.#renewal.catch(() => undefined);
    signal.throwIfAborted();
    const connection = this.#connection;
    if (!connection) throw new Error('the session has ended with its run');
    const isOpen = !connection.isClosed && !connection.isReplaced;
    return isOpen ? connection : this.#replaceConnection(connection, signal);
  }

  /** Returns a new connection in place of one that has ended. Concurrent requests share the new connection. */
  async #replaceConnection(oldConnection: Connection, signal: AbortSignal): Promise<Connection> {
    if (this.#renewal || this.#connection !== oldConnection) return this.#openConnection(signal);
    this.#renewal = this.#renew(oldConnection, signal).finally(() => (this.#renewal = undefined));
    return this.#renewal;
  }

  async #renew(oldConnection: Connection, signal: AbortSignal): Promise<Connection> {
    await closeWhenIdle(oldConnection);
    return (this.#connection = await this.#connect(signal));
  }

  #connect(signal: AbortSignal): Promise<Connection> {
    return connect(this.#server, { secret: () => this.secret, signal });
  }
}

/** The session of the run with a server, as one execution of a block uses it. */
export class McpSession {
  readonly #context: Context;
  readonly #server: McpServer;
  readonly #sharedSession: SharedSession;

  constructor(context: Context, server: McpServer, sharedSession: SharedSession) {
    this.#context = context;
    this.#server = server;
    this.#sharedSession = sharedSession;
  }

  /** True if the operator trusts the server's annotations of its tools. */
  get areAnnotationsTrusted(): boolean {
    return this.#server.options.trusted === true;
  }

  /** True if a person must approve each call by an agent. */
  get requiresApproval(): boolean {
    return this.#server.options.requireApproval === true;
  }

  /** Returns the tools of the server that the operator allows. Lists are cached for a minute. Throws MCP_FAILED. */
  async listTools(): Promise<Tool[]> {
    const { signal } = this.#context;
    const { tools } = await this.#request(({ client }) =>
      client.listTools(undefined, { signal, timeout: SETUP_TIMEOUT_MS, maxTotalTimeout: SETUP_TIMEOUT_MS }),
    );
    if (tools.length > MAX_LISTED_TOOLS)
      throw mcpError(this.#server.name, `it has more than ${MAX_LISTED_TOOLS} tools`);
    const allowedNames = this.#server.options.tools;
    return allowedNames ? tools.filter(({ name }) => allowedNames.includes(name)) : tools;
  }

  /**
   * Returns the result of a call, even if it failed at the server. The progress that the server reports is emitted for
   * the call `id`. Throws MCP_FAILED.
   */
  call(tool: Tool, args: JsonObject, id: string): Promise<CallToolResult> {
    const { signal } = this.#context;
    const onprogress = progressReporter(this.#context, id);
    const options = {
      signal,
      onprogress,
      timeout: CALL_TIMEOUT_MS,
      maxTotalTimeout: CALL_TIMEOUT_MS,
      toolDefinition: tool,
    };
    return this.#request(({ client }) => client.callTool({ name: tool.name, arguments: args }, options));
  }

  #request<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    return withMcpErrors(this.#context, this.#server, () =>
      this.#sharedSession.request(this.#context.signal, work),
    );
  }
}

/** Returns a function that emits the progress that a server reports about the call `id`. */
function progressReporter(context: Context, id: string): (progress: Progress) => void {
  let lastReportMs: number | undefined;
  return ({ progress, total, message }) => {
    const nowMs = context.clock.now();
    if (lastReportMs !== undefined && nowMs - lastReportMs < PROGRESS_INTERVAL_MS) return;
    lastReportMs = nowMs;
    const text = message?.slice(0, MAX_PROGRESS_CHARS).toWellFormed();
    context.emit({
      ...{ type: 'progress', id, progress },
      ...(total !== undefined && { total }),
      ...(text !== undefined && { message: text }),
    });
  };
}

async function withMcpErrors<T>(
  { signal }: Context,
  { name, secret }: McpServer,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (isBlockError(error)) throw error;
    throw mcpError(name, messageOf(error, secret), { cause: error });
  }
}

function mcpError(name: string, reason: string, options: { cause?: unknown } = {}): BlockError {
  return new BlockError('MCP_FAILED', `The MCP server "${name}" cannot be used: ${reason}`, {
    retryable: true,
    ...options,
  });
}

/** Returns the beginning of a message, without the secret: a server could send it back. */
function messageOf(error: unknown, secret: string | undefined): string {
  const message = error instanceof Error ? error.message : String(error);
  const redactedMessage = secret ? message.replaceAll(secret, '[secret]') : message;
  return redactedMessage.slice(0, 500);
}
