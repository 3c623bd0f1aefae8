import { randomUUID } from 'node:crypto';
import { inputSchema } from '@heddle/core/fields';
import type { CallToolResult, ServerContext, Tool } from '@modelcontextprotocol/server';
import { reportProgress } from './run-progress.ts';

const PATH = /^\/api\/mcp\/serve\/([^/]+)$/;
/** Headers that identify the caller. */
const CALLER_HEADERS = ['authorization', 'x-api-key', 'x-forwarded-for', 'x-sim-via'];
const MAX_NAME = 64;

type Fetch = (request: Request) => Promise<Response>;

/** Options of the MCP servers that offer workflows as tools. */
export interface WorkflowTools {
  /** The ids of the workflows of each server, by the server's id. Nothing else is offered. */
  servers: { readonly [id: string]: readonly string[] };
  /** Called with each request to the API, and the caller's request that causes it. */
  madeFor?: (inner: Request, outer: Request) => void;
  /** Receives errors that reach no caller. */
  onError: (error: unknown) => void;
}

/** The workflow as the API describes it. */
interface ShownWorkflow {
  id: string;
  name: string;
  description: string | null;
  isDeployed: boolean;
  inputs: { name: string; type: string; description: string | null; required: boolean }[];
}

interface ShownRun {
  runId: string;
  status: string;
  output: unknown;
  error: { code?: string; message?: string } | null;
}

type Ask = (path: string, init?: AskInit) => Promise<Response>;

interface AskInit {
  body?: string;
  signal: AbortSignal;
  /** The id of the run, as the caller chooses it. */
  runId?: string;
}

/**
 * Returns `fetch` with an MCP server for each row of `servers`, at `/api/mcp/serve/{id}`. A call of a tool is a call of the
 * API's execute operation by the same caller, so its access checks, limits and audit apply.
 */
export async function withWorkflowTools(fetch: Fetch, options: WorkflowTools): Promise<Fetch> {
  const { createMcpHandler, Server } = await import('@modelcontextprotocol/server');
  const { servers, madeFor, onError } = options;
  return async (request) => {
    const id = PATH.exec(new URL(request.url).pathname)?.[1];
    const workflows = id !== undefined && Object.hasOwn(servers, id) ? servers[id] : undefined;
    if (!workflows) return fetch(request);
    const ask: Ask = (path, init) => {
      const inner = innerRequest(request, path, init);
      madeFor?.(inner, request);
      return fetch(inner);
    };
    // A key is needed, even for public workflows, and a wrong one is refused before the protocol begins.
    const access = await ask(`/api/v2/workflows/${encodeURIComponent(workflows[0] ?? '')}`);
    if (access.status === 401) return access;
    await access.body?.cancel();
    const handler = createMcpHandler(
      () => {
        const server = new Server({ name: 'heddle', version: '1' }, { capabilities: { tools: {} } });
        server.setRequestHandler('tools/list', async () => ({
          tools: (await offered(workflows, ask)).map(({ tool }) => tool),
        }));
        server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
          const found = (await offered(workflows, ask)).find(({ tool }) => tool.name === params.name);
          if (!found) return failure(`There is no tool "${params.name.slice(0, 100)}".`);
          // Clients of earlier protocol versions have no session here, so only the end of their connection cancels.
          const signal = AbortSignal.any([mcpReq.signal, request.signal]);
          return run(found.id, params.arguments ?? {}, { ask, signal, report: progressOf(mcpReq), onError });
        });
        return server;
      },
      { onerror: onError },
    );
    return handler.fetch(request);
  };
}

function innerRequest(outer: Request, path: string, init: Partial<AskInit> = {}): Request {
  const { body, signal, runId } = init;
  const headers = new Headers();
  for (const name of CALLER_HEADERS) {
    const value = outer.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  if (body !== undefined) headers.set('content-type', 'application/json');
  if (runId !== undefined) headers.set('x-run-id', runId);
  const url = new URL(path, outer.url);
  const method = body === undefined ? 'GET' : 'POST';
  return new Request(url, {
    method,
    headers,
    ...(body !== undefined && { body }),
    ...(signal && { signal }),
  });
}

/** Returns the tools of deployed workflows that the caller can see. */
async function offered(workflows: readonly string[], ask: Ask): Promise<{ id: string; tool: Tool }[]> {
  const tools = new Map<string, { id: string; tool: Tool }>();
  for (const id of workflows) {
    const answer = await ask(`/api/v2/workflows/${encodeURIComponent(id)}`);
    if (answer.status === 403 || answer.status === 404) {
      await answer.body?.cancel();
      continue;
    }
    if (!answer.ok) throw new Error(await messageOf(answer));
    const { data } = (await answer.json()) as { data: ShownWorkflow };
    if (!data.isDeployed) continue;
    const name = freeName(data.name, tools);
    tools.set(name, { id, tool: toolOf(data, name) });
  }
  return [...tools.values()];
}

function toolOf({ name: title, description, inputs }: ShownWorkflow, name: string): Tool {
  const fields = inputs.map((input) => ({ ...input, description: input.description ?? undefined }));
  return {
    name,
    title,
    ...(description !== null && { description }),
    inputSchema: inputSchema(fields) as Tool['inputSchema'],
  };
}

function freeName(title: string, taken: ReadonlyMap<string, unknown>): string {
  const plain =
    title
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '_')
      .slice(0, MAX_NAME - 4) || 'workflow';
  for (let number = 1; ; number++) {
    const name = number === 1 ? plain : `${plain}_${number}`;
    if (!taken.has(name)) return name;
  }
}

type Report = (ended: number) => Promise<void>;

/** Returns a function that sends the progress of a call; undefined if the caller has not requested it. */
function progressOf({ _meta, notify }: ServerContext['mcpReq']): Report | undefined {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  return (progress) => {
    const message = `${progress} ${progress === 1 ? 'block has' : 'blocks have'} ended.`;
    return notify({ method: 'notifications/progress', params: { progressToken, progress, message } });
  };
}

interface RunOptions {
  ask: Ask;
  signal: AbortSignal;
  report: Report | undefined;
  onError: (error: unknown) => void;
}

/** Runs a workflow to its end, or until a person must answer. An aborted call cancels the run. */
async function run(id: string, input: object, options: RunOptions): Promise<CallToolResult> {
  const { ask, signal, report, onError } = options;
  const path = `/api/v2/workflows/${encodeURIComponent(id)}/execute`;
  const body = JSON.stringify({ input });
  if (!report) return answered(await ask(path, { body, signal }));
  const runId = `mcp-${randomUUID()}`;
  const ended = new AbortController();
  const following = { signal: AbortSignal.any([signal, ended.signal]) };
  const reporting = reportProgress({
    ...{ workflowId: id, runId, report, onError, ...following },
    ask: (of) => ask(of, following),
  });
  try {
    return await answered(await ask(path, { body, signal, runId }));
  } finally {
    ended.abort();
    await reporting;
  }
}

async function answered(answer: Response): Promise<CallToolResult> {
  if (!answer.ok) return failure(await messageOf(answer));
  const { data } = (await answer.json()) as { data: ShownRun };
  return { ...resultOf(data), _meta: { runId: data.runId } };
}

function resultOf({ status, runId, output, error }: ShownRun): CallToolResult {
  if (status === 'completed') {
    const text = typeof output === 'string' ? output : JSON.stringify(output);
    return { content: [{ type: 'text', text }] };
  }
  if (status === 'paused')
    return {
      content: [{ type: 'text', text: `The run ${runId} waits for a person, and continues after that.` }],
    };
  const { code = status.toUpperCase(), message = `The run is ${status}.` } = error ?? {};
  return failure(`${code}: ${message}`);
}

function failure(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true };
}

async function messageOf(answer: Response): Promise<string> {
  const body = (await answer.json().catch(() => undefined)) as { error?: { message?: string } } | undefined;
  return body?.error?.message ?? `The request was refused with status ${answer.status}.`;
}
