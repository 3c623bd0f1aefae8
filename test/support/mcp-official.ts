import { randomUUID } from 'node:crypto';
import {
  createMcpHandler,
  fromJsonSchema,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { serveFetch } from './mcp-server.ts';

const CITY_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
} as const;

interface CallLog {
  /**
   * An entry for each tool call: the city for a call of `forecast`, and `slow` for a call of `slow`. If that call is
   * cancelled, the entry `cancelled` follows.
   */
  calls: string[];
}

/** Creates a server with the official SDK. The server adds the calls of its tools to `calls`. */
function createOfficialServer({ calls }: CallLog): McpServer {
  const server = new McpServer(
    { name: 'sky', version: '1.0.0' },
    { cacheHints: { 'tools/list': { ttlMs: 60_000 } } },
  );
  const inputSchema = fromJsonSchema<{ city: string }>(CITY_SCHEMA);
  server.registerTool('forecast', { description: 'The sky.', inputSchema }, ({ city }) => {
    calls.push(city);
    return { content: [{ type: 'text', text: `Rain in ${city}` }] };
  });
  server.registerTool('broken', { description: 'Fails.', inputSchema }, () => ({
    content: [{ type: 'text', text: 'no such city' }],
    isError: true,
  }));
  server.registerTool('slow', { description: 'Never answers.', inputSchema }, (_args, { mcpReq }) => {
    calls.push('slow');
    mcpReq.signal.addEventListener('abort', () => calls.push('cancelled'));
    return new Promise(() => undefined);
  });
  server.registerTool(
    'steps',
    { description: 'Reports each step.', inputSchema },
    async (_args, { mcpReq }) => {
      const progressToken = mcpReq._meta?.progressToken;
      for (let progress = 1; progressToken !== undefined && progress <= 50; progress++)
        await mcpReq.notify({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 50, message: `Step ${progress} ${'x'.repeat(600)}` },
        });
      return { content: [{ type: 'text', text: 'done' }] };
    },
  );
  return server;
}

/** Starts a server that supports the protocol revision 2026-07-28 and earlier ones. */
export async function startMcpServer() {
  const callLog: CallLog = { calls: [] };
  const handler = createMcpHandler(() => createOfficialServer(callLog));
  const fetchServer = await serveFetch((request) => handler.fetch(request));
  return { ...callLog, ...fetchServer, notifyToolsChanged: () => handler.notify.toolsChanged() };
}

/**
 * Starts a server of the protocol revision 2025-11-25, with sessions. Before each request of the method
 * `forgetSessionsAt`, the server forgets all sessions.
 */
export async function startSessionServer({ forgetSessionsAt }: { forgetSessionsAt?: string } = {}) {
  const callLog: CallLog = { calls: [] };
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const servers: McpServer[] = [];
  /** The ids of the sessions that clients have closed. */
  const endedSessionIds: string[] = [];
  /** The authorization headers of the requests that have started a session. */
  const authorizationHeaders: string[] = [];
  const fetchServer = await serveFetch(async (request) => {
    const id = request.headers.get('mcp-session-id');
    if (forgetSessionsAt !== undefined && (await request.clone().text()).includes(`"${forgetSessionsAt}"`))
      transports.clear();
    const openTransport = id === null ? undefined : transports.get(id);
    if (id !== null && !openTransport) return new Response('unknown session', { status: 404 });
    if (openTransport) return openTransport.handleRequest(request);
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (sessionId) => {
        authorizationHeaders.push(request.headers.get('authorization') ?? '');
        transports.set(sessionId, transport);
      },
      onsessionclosed: (sessionId) => void endedSessionIds.push(sessionId),
    });
    const server = createOfficialServer(callLog);
    servers.push(server);
    await server.connect(transport);
    return transport.handleRequest(request);
  });
  const notifyToolsChanged = (): void => {
    for (const server of servers) server.sendToolListChanged();
  };
  return {
    ...callLog,
    ...fetchServer,
    transports,
    endedSessionIds,
    sessionAuthorizations: authorizationHeaders,
    notifyToolsChanged,
  };
}
