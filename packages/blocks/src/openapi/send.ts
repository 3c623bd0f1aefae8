import { BlockError, isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { parseRetryAfterMs } from '@heddle/core/fields';
import type { ConfiguredService } from '@heddle/engine';
import type { Context } from '../define.ts';
import { codeIn, failureReasonIn } from './response.ts';
import { chunksFrom, readStart } from './body.ts';
import type { ServiceTool } from './file.ts';
import { isTransient, errorKindOf } from './error-kinds.ts';
import type { ErrorKind } from './error-kinds.ts';
import type { ServiceRequest } from './request.ts';

/** The response of a service. */
export interface ServiceResponse {
  /**
   * The body: JSON, text, `{type, size, base64}` for other content, or `{file}` if it was stored as a run file.
   */
  data: Json;
  status: number;
  headers: { [name: string]: string };
}

/** The call of a tool for which a request is sent. */
export interface ToolInvocation {
  tool: ServiceTool;
  args: JsonObject;
  context: Context;
}

const TIMEOUT_MS = 300_000;
const MAX_EXCERPT_CHARS = 2000;
/** Maximum number of bytes of an error response that are read, for tools whose responses can be files. */
const MAX_ERROR_BYTES = 64 * 1024;

/** Sends a request once. Returns the response, or HTTP_FAILED for any failed call. Throws other errors. */
export async function sendOnce(
  request: ServiceRequest,
  { tool, args, context }: ToolInvocation,
  { http }: ConfiguredService,
): Promise<ServiceResponse | BlockError> {
  const { signal } = context;
  const name = `${request.method} ${request.displayUrl}`;
  let response: ServiceResponse;
  try {
    response = await exchange(request, { tool, args, context }, http);
  } catch (error) {
    signal.throwIfAborted();
    if (!isHttpClientError(error)) throw error;
    return clientFailure(name, error, request.pathSecrets);
  }
  const { status, headers, data } = response;
  const reportedReason = failureReasonIn(tool, data);
  if (status >= 200 && status < 400 && reportedReason === undefined) return response;
  const reason = redact(reportedReason ?? excerpt(data), request.pathSecrets);
  const kind = errorKindOf(tool.answer, { status, code: codeIn(tool, data), reason });
  const delayMs =
    parseRetryAfterMs(headers['retry-after'], context.clock.now()) ??
    (kind === 'rate' ? msUntilReset(tool, headers, context.clock.now()) : undefined);
  return statusFailure(name, {
    ...{ status, kind, reason, retryAfterMs: delayMs, service: tool.service },
    isReasonReported: reportedReason !== undefined,
  });
}

async function exchange(
  request: ServiceRequest,
  { tool, args, context }: ToolInvocation,
  http: ConfiguredService['http'],
): Promise<ServiceResponse> {
  const { signal, remainingMs = TIMEOUT_MS, services } = context;
  const options = { ...request, signal, timeoutMs: Math.max(1, Math.min(TIMEOUT_MS, remainingMs)) };
  const file = tool.answer?.file;
  if (!file) {
    const { body, status, headers: pairs } = await http.fetch(options);
    const headers = Object.fromEntries(pairs);
    return { status, headers, data: dataOf(body, headers['content-type'] ?? '') };
  }
  const { maxBytes } = file;
  const limitOptions = maxBytes !== undefined && { maxResponseBytes: maxBytes };
  const { body, status, headers: pairs } = await http.open({ ...options, ...limitOptions, toFile: true });
  const headers = Object.fromEntries(pairs);
  const type = headers['content-type'] ?? '';
  const isOk = status >= 200 && status < 400;
  const reader = body.getReader();
  try {
    const start = await readStart(reader, isOk ? file.above : MAX_ERROR_BYTES);
    if (start.isComplete || !isOk) return { status, headers, data: dataOf(start.bytes, type) };
    const name = nameOf(file.name === undefined ? undefined : getOwn(args, file.name), headers, request);
    const record = await services.storeFile({ name, type, chunks: chunksFrom(start.bytes, reader) });
    return { status, headers, data: { file: { ...record } } };
  } finally {
    // Closes the connection of a body that was not read to its end.
    await reader.cancel().catch(() => undefined);
  }
}

/** Returns the name of a file: from the call, from the response, or from the path. */
function nameOf(
  argument: Json | undefined,
  headers: ServiceResponse['headers'],
  { displayUrl }: ServiceRequest,
): string {
  if (typeof argument === 'string' && argument.trim() !== '') return argument;
  const disposition = (headers['content-disposition'] ?? '').slice(0, 2000);
  const [, encodedName] = /;\s*filename\*\s*=\s*utf-8'[^']*'([^;\s]+)/i.exec(disposition) ?? [];
  const [, quotedName, plainName] = /;\s*filename\s*=\s*(?:"([^"]*)"|([^;\s"]+))/i.exec(disposition) ?? [];
  return (
    tryDecode(encodedName) ?? quotedName ?? plainName ?? tryDecode(new URL(displayUrl).pathname) ?? 'file'
  );
}

/** Returns the text without percent-encoding; undefined for text that is not encoded correctly. */
function tryDecode(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    // The text has a percent sign that is not part of an encoded character.
    return undefined;
  }
}

interface FailedCall {
  status: number;
  kind: ErrorKind | undefined;
  /** The service's message. */
  reason: string;
  /** True: the body reports the reason, by `answer.ok` or `answer.error` of the tool. False: it is an excerpt. */
  isReasonReported: boolean;
  retryAfterMs: number | undefined;
  service: string;
}

function statusFailure(name: string, failure: FailedCall): BlockError {
  const { status, kind, reason, isReasonReported } = failure;
  return new BlockError('HTTP_FAILED', `${name} responded with ${status}: ${reason}${hintFor(failure)}`, {
    retryable: isTransient(kind),
    ...(failure.retryAfterMs !== undefined && { retryAfterMs: failure.retryAfterMs }),
    details: { status, ...(kind !== undefined && { kind }), ...(isReasonReported && { reason }) },
  });
}

/** Times above this value are in milliseconds since 1970, other times in seconds. */
const MAX_EPOCH_SECONDS = 1e11;

/** Returns the milliseconds until the time that a header of the service names. */
function msUntilReset(
  { answer }: ServiceTool,
  headers: ServiceResponse['headers'],
  nowMs: number,
): number | undefined {
  const time = Number(headers[answer?.reset?.toLowerCase() ?? ''] ?? Number.NaN);
  const resetAtMs = time > MAX_EPOCH_SECONDS ? time : time * 1000;
  return Number.isFinite(resetAtMs) ? Math.max(0, resetAtMs - nowMs) : undefined;
}

/** True for a failure of the HTTP client. Other errors are not failures of the service, and are rethrown. */
function isHttpClientError(error: unknown): boolean {
  return codeOf(error)?.startsWith('EGRESS_') === true;
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Returns the failure of a call without a response: the connection failed, or the egress policy refused it. */
function clientFailure(name: string, error: unknown, pathSecrets: readonly string[]): BlockError {
  const code = codeOf(error);
  const retryable = code !== 'EGRESS_DENIED' && code !== 'EGRESS_TOO_LARGE';
  const reason = redact(error instanceof Error ? error.message : String(error), pathSecrets);
  return new BlockError('HTTP_FAILED', `${name} got no answer: ${reason}`, {
    retryable,
    ...(retryable && { details: { kind: 'temporary' } }),
    // A cause can contain the whole path, with its keys.
    ...(pathSecrets.length === 0 && { cause: error }),
  });
}

/** Returns advice for a failure. */
function hintFor({ service, status, kind }: FailedCall): string {
  if (kind !== 'auth') return '';
  return status === 403
    ? ` (the credential for the service "${service}" does not have the permission)`
    : ` (the service "${service}" does not accept the credential)`;
}

/** Returns the text without the API keys of the path, which services and errors can repeat. */
function redact(text: string, pathSecrets: readonly string[]): string {
  return pathSecrets.reduce((result, key) => result.replaceAll(key, '«redacted»'), text);
}

function excerpt(data: Json): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return text.length > MAX_EXCERPT_CHARS ? `${text.slice(0, MAX_EXCERPT_CHARS).toWellFormed()}…` : text;
}

/** True if the service has refused the call because of a rate limit. Such a call had no effect. */
export function isRateLimited({ details }: Pick<BlockError, 'details'>): boolean {
  return isJsonObject(details) && details['kind'] === 'rate';
}

/** Returns a body as JSON, as text, or as `{type, size, base64}`, by its media type. */
export function dataOf(body: Uint8Array, contentType: string): Json {
  if (body.length === 0) return null;
  const type = mediaTypeOf(contentType);
  if (type === '' || TEXT_TYPES.test(type)) {
    const text = new TextDecoder().decode(body);
    return type === '' || /[/+]json$/.test(type) ? parseJsonOrText(text) : text;
  }
  return { type, size: body.length, base64: Buffer.from(body).toString('base64') };
}

/** Returns a media type in lower case, without its parameters. */
function mediaTypeOf(contentType: string): string {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

const TEXT_TYPES = /^text\/|[/+](?:json|xml|yaml|javascript|x-ndjson|x-www-form-urlencoded)$/;

/** Returns true for a media type of text, and for a range that allows any type. */
export function isTextType(contentType: string): boolean {
  const type = mediaTypeOf(contentType);
  return type.includes('*') || TEXT_TYPES.test(type);
}

function parseJsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
