import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { Engine } from '@heddle/engine';
import type { RunResult } from '../runs/schemas.ts';

const TIMEOUT_STATUS = 408;
const MIN_STATUS = 200;
const MAX_STATUS = 599;
/** Statuses of responses without a body. */
const NULL_BODY_STATUSES = new Set([204, 205, 304]);

/**
 * Returns the response to an execution: the response of the run's Response block, else the result of the run.
 * `findEngineRunId` returns the engine's id of the run.
 */
export async function executionResponse(
  engine: Pick<Engine, 'getLogs'>,
  result: RunResult,
  findEngineRunId: () => Promise<string> | string,
): Promise<Response> {
  const { status, output } = result;
  // The output of an `api` block has the same shape, but another server controls it.
  if (
    status === 'completed' &&
    isResponseOutput(output) &&
    (await hasResponseBlock(engine, await findEngineRunId()))
  )
    return responseOf(output);
  return Response.json(executionBody(result), {
    status: result.error?.code === 'TIMEOUT' ? TIMEOUT_STATUS : 200,
  });
}

interface ResponseOutput {
  data: Json;
  status: number;
  headers: JsonObject;
}

function isResponseOutput(output: unknown): output is ResponseOutput {
  if (!isJsonObject(output)) return false;
  const { data, status, headers, ...otherFields } = output;
  const hasFields = data !== undefined && typeof status === 'number' && isJsonObject(headers);
  return hasFields && Object.keys(otherFields).length === 0;
}

/** Returns true if a Response block has completed. The run's output is then the output of the first such block. */
async function hasResponseBlock(engine: Pick<Engine, 'getLogs'>, engineRunId: string): Promise<boolean> {
  const logs = await engine.getLogs(engineRunId);
  return logs.some(({ blockType, status }) => blockType === 'response' && status === 'completed');
}

function responseOf({ data, status, headers }: ResponseOutput): Response {
  const isUsable = status >= MIN_STATUS && status <= MAX_STATUS && !NULL_BODY_STATUSES.has(status);
  const response = Response.json(data, { status: isUsable ? status : 200 });
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && !isReserved(name)) setHeader(response.headers, name, value);
  }
  // Keeps HTML of a workflow's author from running scripts in this origin.
  response.headers.set('Content-Security-Policy', "default-src 'none'; sandbox");
  return response;
}

/** Headers that only the server may set: framing, connection, cookies, security, and metadata of the call. */
const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  ...['content-length', 'content-encoding', 'content-range', 'transfer-encoding', 'trailer', 'te'],
  ...[
    'connection',
    'keep-alive',
    'upgrade',
    'http2-settings',
    'alt-svc',
    'alt-used',
    'via',
    'date',
    'server',
  ],
  ...['set-cookie', 'set-cookie2', 'clear-site-data', 'www-authenticate', 'authentication-info'],
  ...['strict-transport-security', 'content-security-policy', 'content-security-policy-report-only'],
  ...['x-frame-options', 'x-content-type-options', 'x-xss-protection', 'x-permitted-cross-domain-policies'],
  ...['referrer-policy', 'permissions-policy', 'feature-policy', 'document-policy', 'origin-agent-cluster'],
  ...['expect-ct', 'public-key-pins', 'public-key-pins-report-only', 'timing-allow-origin', 'origin-trial'],
  ...['nel', 'report-to', 'reporting-endpoints', 'service-worker-allowed', 'sourcemap', 'x-sourcemap'],
  ...['x-request-id', 'x-run-id', 'x-execution-id', 'x-accel-buffering', 'x-accel-redirect', 'x-sendfile'],
]);
const RESERVED_PREFIXES = ['access-control-', 'cross-origin-', 'proxy-', 'sec-', 'x-ratelimit-', 'x-accel-'];

function isReserved(name: string): boolean {
  const lowerName = name.toLowerCase().trim();
  return RESERVED_HEADERS.has(lowerName) || RESERVED_PREFIXES.some((prefix) => lowerName.startsWith(prefix));
}

/** Sets the header. Skips an invalid header, so that the client still gets the data. */
function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}

/** Returns the body of the response to an execution. */
export function executionBody(result: RunResult) {
  const { runId, status, output, error, durationMs, startedAt, endedAt } = result;
  return {
    success: status === 'completed' || status === 'paused',
    executionId: runId,
    output,
    error: error?.message ?? null,
    metadata: { duration: durationMs, startTime: startedAt, endTime: endedAt },
  };
}
