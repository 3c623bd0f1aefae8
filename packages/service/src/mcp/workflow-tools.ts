import { randomUUID } from 'node:crypto';
import { inputSchema } from '@heddle/core/fields';
import type { CallToolResult, ServerContext, Tool } from '@modelcontextprotocol/server';
import { reportProgress } from './run-progress.ts';

const SERVER_PATH = /^\/api\/mcp\/serve\/([^/]+)$/;
/** Headers that identify the caller. */
const CALLER_HEADERS = ['authorization', 'x-api-key', 'x-forwarded-for', 'x-sim-via'];
const MAX_NAME_LENGTH = 64;

type Fetch = (request: Request) => Promise<Response>;

/** Options of the MCP servers that offer workflows as tools. */
export interface WorkflowToolsOptions {
  /** The ids of the workflows of each server, by the server's id. Nothing else is offered. */
  servers: { readonly [id: string]: readonly string[] };
  /** Called with each request to the API, and the caller's request that causes it. */
  onInnerRequest?: (innerRequest: Request, outerRequest: Request) => void;
  /** Receives errors that reach no caller. */
  onError: (error: unknown) => void;
}

/** The fields of a workflow in a response of the API that a tool needs. */
interface WorkflowData {
  id: string;
  name: string;
  description: string | null;
  isDeployed: boolean;
  inputs: { name: string; type: string; description: string | null; required: boolean }[];
}

interface RunData {
  runId: string;
  status: string;
  output: unknown;
  error: { code?: string; message?: string } | null;
}

type CallApi = (path: string, init?: CallInit) => Promise<Response>;

interface CallInit {
  body?: string;
  signal: AbortSignal;
  /** An id for the run, which the caller chooses. */
  runId?: string;
}

/**
 * Returns `fetch` with an MCP server for each entry of `servers`, at `/api/mcp/serve/{id}`. A tool call executes a
 * workflow through the API as the same caller, so the access checks, limits and audit of the API apply.
 */
export async function withWorkflowTools(fetch: Fetch, options: WorkflowToolsOptions): Promise<Fetch> {
  const { createMcpHandler, Server } = await import('@modelcontextprotocol/server');
  const { servers, onInnerRequest, onError } = options;
  return async (request) => {
    const serverId = SERVER_PATH.exec(new URL(request.url).pathname)?.[1];
    const workflowIds =
      serverId !== undefined && Object.hasOwn(servers, serverId) ? servers[serverId] : undefined;
    if (!workflowIds) return fetch(request);
    const callApi: CallApi = (path, init) => {
      const innerRequest = toInnerRequest(request, path, init);
      onInnerRequest?.(innerRequest, request);
      return fetch(innerRequest);
    };
    // Every caller needs a valid credential, even for public workflows. Without one, the caller gets the 401 of the
    // API, not an error of the MCP protocol.
    const accessResponse = await callApi(`/api/v2/workflows/${encodeURIComponent(workflowIds[0] ?? '')}`);
    if (accessResponse.status === 401) return accessResponse;
    await accessResponse.body?.cancel();
    const handler = createMcpHandler(
      () => {
        const server = new Server({ name: 'heddle', version: '1' }, { capabilities: { tools: {} } });
        server.setRequestHandler('tools/list', async () => ({
          tools: (await listTools(workflowIds, callApi)).map(({ tool }) => tool),
        }));
        server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
          const entry = (await listTools(workflowIds, callApi)).find(({ tool }) => tool.name === params.name);
          if (!entry) return errorResult(`There is no tool "${params.name.slice(0, 100)}".`);
          // With earlier protocol revisions, this server keeps no session, so only the end of the connection cancels a
          // call.
          const signal = AbortSignal.any([mcpReq.signal, request.signal]);
          const report = reporterOf(mcpReq);
          return run(entry.id, params.arguments ?? {}, { callApi, signal, report, onError });
        });
        return server;
      },
      { onerror: onError },
    );
    return handler.fetch(request);
  };
}

function toInnerRequest(outerRequest: Request, path: string, init: Partial<CallInit> = {}): Request {
  const { body, signal, runId } = init;
  const headers = new Headers();
  for (const name of CALLER_HEADERS) {
    const value = outerRequest.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (runId !== undefined) headers.set('x-run-id', runId);
  const url = new URL(path, outerRequest.url);
  const method = body === undefined ? 'GET' : 'POST';
  return new Request(url, {
    method,
    headers,
    ...(body !== undefined && { body }),
    ...(signal && { signal }),
  });
}

/** Returns the tools of deployed workflows that the caller can see. */
async function listTools(
  workflowIds: readonly string[],
  callApi: CallApi,
): Promise<{ id: string; tool: Tool }[]> {
  const tools = new Map<string, { id: string; tool: Tool }>();
  for (const id of workflowIds) {
    const response = await callApi(`/api/v2/workflows/${encodeURIComponent(id)}`);
    if (response.status === 403 || response.status === 404) {
      await response.body?.cancel();
      continue;
    }
    if (!response.ok) throw new Error(await messageOf(response));
    const { data } = (await response.json()) as { data: WorkflowData };
    if (!data.isDeployed) continue;
    const name = findFreeName(data.name, tools);
    tools.set(name, { id, tool: toolOf(data, name) });
  }
  return [...tools.values()];
}

function toolOf({ name: title, description, inputs }: WorkflowData, name: string): Tool {
  const fields = inputs.map((input) => ({ ...input, description: input.description ?? undefined }));
  return {
    name,
    title,
    ...(description !== null && { description }),
    inputSchema: inputSchema(fields) as Tool['inputSchema'],
  };
}

function findFreeName(title: string, takenNames: ReadonlyMap<string, unknown>): string {
  const baseName =
    title
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '_')
      .slice(0, MAX_NAME_LENGTH - 4) || 'workflow';
  for (let number = 1; ; number++) {
    const name = number === 1 ? baseName : `${baseName}_${number}`;
    if (!takenNames.has(name)) return name;
  }
}

type Report = (endedCount: number) => Promise<void>;

/** Returns a function that sends the progress of a call; undefined if the caller has not requested it. */
function reporterOf({ _meta, notify }: ServerContext['mcpReq']): Report | undefined {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress) => {
    const message = `${progress} ${progress === 1 ? 'block has' : 'blocks have'} ended.`;
    return notify({ method: 'notifications/progress', params: { progressToken, progress, message } });
  };
}

interface RunOptions {
  callApi: CallApi;
  signal: AbortSignal;
  report: Report | undefined;
  onError: (error: unknown) => void;
}

/** Runs a workflow until it ends or pauses for human input. An aborted call cancels the run. */
async function run(id: string, input: object, options: RunOptions): Promise<CallToolResult> {
  const { callApi, signal, report, onError } = options;
  const path = `/api/v2/workflows/${encodeURIComponent(id)}/execute`;
  const body = JSON.stringify({ input });
  if (!report) return resultOfResponse(await callApi(path, { body, signal }));
  const runId = `mcp-${randomUUID()}`;
  const runEndController = new AbortController();
  const progressInit = { signal: AbortSignal.any([signal, runEndController.signal]) };
  const reporting = reportProgress({
    ...{ workflowId: id, runId, report, onError, ...progressInit },
    callApi: (progressPath) => callApi(progressPath, progressInit),
  });
  try {
    return await resultOfResponse(await callApi(path, { body, signal, runId }));
  } finally {
    runEndController.abort();
    await reporting;
  }
}

async function resultOfResponse(response: Response): Promise<CallToolResult> {
  if (!response.ok) return errorResult(await messageOf(response));
  const { data } = (await response.json()) as { data: RunData };
  return { ...resultOfRun(data), _meta: { runId: data.runId } };
}

function resultOfRun({ status, runId, output, error }: RunData): CallToolResult {
  if (status === 'completed') {
    const text = typeof output === 'string' ? output : JSON.stringify(output);
    return { content: [{ type: 'text', text }] };
  }
  if (status === 'paused')
    return {
      content: [{ type: 'text', text: `The run ${runId} waits for a person's answer, and then continues.` }],
    };
  const { code = status.toUpperCase(), message = `The run is ${status}.` } = error ?? {};
  return errorResult(`${code}: ${message}`);
}

function errorResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

async function messageOf(response: Response): Promise<string> {
  const body = (await response.json().catch(() => undefined)) as { error?: { message?: string } } | undefined;
  return body?.error?.message ?? `The request failed with status ${response.status}.`;
}
