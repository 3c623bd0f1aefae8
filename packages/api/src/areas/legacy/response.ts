import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import type { Engine } from '@heddle/engine';
import type { RunResult } from '../runs/schemas.ts';
import { executedOf } from './views.ts';

const TIMED_OUT = 408;
const LOWEST_STATUS = 200;
const HIGHEST_STATUS = 599;
/** Statuses that a response with a body cannot have. */
const WITHOUT_BODY = new Set([204, 205, 304]);

/** Returns the answer to an older execution: what the run's Response block says, else the result of the run. */
export async function answerOf(engine: Pick<Engine, 'getLogs'>, result: RunResult): Promise<Response> {
  const { status, output, runId } = result;
  // Outputs of `api` blocks have the same form, and are what a foreign server says.
  if (status === 'completed' && isResponse(output) && (await hasAnswered(engine, runId))) {
    return responseOf(output);
  }
  return Response.json(executedOf(result), { status: result.error?.code === 'TIMEOUT' ? TIMED_OUT : 200 });
}

interface ResponseOutput {
  data: Json;
  status: number;
  headers: JsonObject;
}

function isResponse(output: unknown): output is ResponseOutput {
  if (!isJsonObject(output)) return false;
  const { data, status, headers, ...more } = output;
  const isShaped = data !== undefined && typeof status === 'number' && isJsonObject(headers);
  return isShaped && Object.keys(more).length === 0;
}

/** True when a Response block has finished: then the run's output is that of the first one. */
async function hasAnswered(engine: Pick<Engine, 'getLogs'>, runId: string): Promise<boolean> {
  const logs = await engine.getLogs(runId);
  return logs.some(({ blockType, status }) => blockType === 'response' && status === 'completed');
}

function responseOf({ data, status, headers }: ResponseOutput): Response {
  const isUsable = status >= LOWEST_STATUS && status <= HIGHEST_STATUS && !WITHOUT_BODY.has(status);
  const response = Response.json(data, { status: isUsable ? status : 200 });
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === 'string' && !isReserved(name)) setHeader(response.headers, name, value);
  }
  // A page that an author makes up would run as one of this origin.
  response.headers.set('Content-Security-Policy', "default-src 'none'; sandbox");
  return response;
}

/** Headers that are the server's: framing, connection, cookies, security, and what it says of the call itself. */
const RESERVED: ReadonlySet<string> = new Set([
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
const RESERVED_FAMILIES = ['access-control-', 'cross-origin-', 'proxy-', 'sec-', 'x-ratelimit-', 'x-accel-'];

function isReserved(name: string): boolean {
  const lower = name.toLowerCase().trim();
  return RESERVED.has(lower) || RESERVED_FAMILIES.some((family) => lower.startsWith(family));
}

/** A header that no response can have is left out: the data still arrive. */
function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}
