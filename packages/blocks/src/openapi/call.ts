import { BlockError, isJsonObject, own } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { isRetryableStatus, retryAfterMs } from '@heddle/core/fields';
import type { ConfiguredService } from '@heddle/engine';
import type { Context } from '../define.ts';
import { rateKeyOf } from '../rate-key.ts';
import type { ServiceTool, ToolFile } from './file.ts';
import { repeated } from './attempts.ts';
import { failureIn, itemsOf, nextCursor, outputOf } from './answer.ts';
import type { Refusal } from './answer.ts';
import { awaitKey, refuseKey } from './rate.ts';
import { requestOf } from './request.ts';
import type { ServiceRequest } from './request.ts';
import { ArgumentError } from './wire.ts';

/** A call of a tool. */
export interface ServiceCall {
  tool: ServiceTool;
  args: JsonObject;
  services: ToolFile['services'];
  /** Id of the stored credential that the author has named. */
  credentialId: string | undefined;
  /** A key that the author has given instead of a stored credential. */
  key?: string | undefined;
  idempotencyKey: string;
  context: Context;
}

/** What a service has answered. */
export interface ServiceAnswer {
  /** The body: JSON, text, or `{type, size, base64}` for other content. */
  data: Json;
  status: number;
  headers: { [name: string]: string };
}

const TIMEOUT_MS = 300_000;
const EXCERPT_CHARS = 2000;
/** Lets a server that runs workflows detect infinite recursion. */
const CALL_CHAIN_HEADER = 'x-sim-via';

/** Most bytes of the items of all pages of a call, as JSON. */
const MAX_ITEMS_BYTES = 8 * 2 ** 20;

/**
 * Calls an operation of a service, and returns what its definition makes of the answer. Repeats a call that the service
 * refuses for now, if that cannot do it twice. A list comes with all its pages, up to the bound of the tool.
 *
 * Throws a BlockError: TOOL_ARGUMENTS_INVALID, TOOL_ADDRESS_MISSING, CREDENTIAL_UNKNOWN, HTTP_FAILED.
 */
export async function callService(call: ServiceCall): Promise<ServiceAnswer> {
  const { tool, args } = call;
  const { paging } = tool;
  const target = await targetOf(call);
  const first = await callOnce(call, target);
  if (!paging || own(args, paging.argument) !== undefined)
    return { ...first, data: outputOf(tool, first.data) };
  const items = itemsOf(paging, first.data);
  let bytes = sizeOf(items);
  let { data } = first;
  for (let page = 1; page < paging.pages && bytes < MAX_ITEMS_BYTES; page++) {
    const cursor = nextCursor(paging, data);
    if (cursor === undefined) break;
    ({ data } = await callOnce({ ...call, args: { ...args, [paging.argument]: cursor } }, target));
    const more = itemsOf(paging, data);
    bytes += sizeOf(more);
    items.push(...more);
  }
  return { ...first, data: outputOf(tool, data, items) };
}

function sizeOf(items: readonly Json[]): number {
  return Buffer.byteLength(JSON.stringify(items));
}

/** Where the requests of a call go, and with which key. */
interface Target {
  service: ConfiguredService;
  address: string;
  secret: string | undefined;
  /** What processes share about the key; undefined without one. */
  rateKey: string | undefined;
}

async function targetOf(call: ServiceCall): Promise<Target> {
  const { tool, services, context } = call;
  const service = await context.services.service(tool.service);
  const own = Object.hasOwn(services, tool.service) ? services[tool.service] : undefined;
  const address = service.address ?? own?.address;
  if (address === undefined)
    throw refuse(
      'TOOL_ADDRESS_MISSING',
      `The address of the service "${tool.service}" is unknown: give it with --service ${tool.service}=URL.`,
    );
  const secret = await secretFor(call, service);
  const rateKey = secret === undefined ? undefined : rateKeyOf(secret, tool.service, address);
  return { service, address, secret, rateKey };
}

async function callOnce(call: ServiceCall, target: Target): Promise<ServiceAnswer> {
  const { tool, context } = call;
  const request = await builtRequest(call, target);
  return repeated(
    context,
    () => sendWithinRate(request, call, target),
    (error) => mayRepeat(error, tool),
  );
}

/** Sends a request unless the service refuses the key for now, and remembers if it does so with this request. */
async function sendWithinRate(
  request: ServiceRequest,
  call: ServiceCall,
  { service, rateKey }: Target,
): Promise<ServiceAnswer | BlockError> {
  const { context, tool } = call;
  if (rateKey !== undefined) await awaitKey(context, rateKey, tool.service);
  const answer = await sendOnce(request, call, service);
  if (rateKey === undefined || !(answer instanceof BlockError)) return answer;
  if (answer.retryAfterMs !== undefined && isRefused(answer))
    await refuseKey(context, rateKey, answer.retryAfterMs);
  return answer;
}

/** A refused call, such as one with status 429, has done nothing. */
function mayRepeat({ retryable, details }: BlockError, tool: ServiceTool): boolean {
  if (!retryable) return false;
  if (isRepeatable(tool)) return true;
  return isRefused({ details });
}

function isRefused({ details }: Pick<BlockError, 'details'>): boolean {
  return isJsonObject(details) && (details['status'] === 429 || details['refused'] === true);
}

/** True if a call with the same arguments and the same key does nothing twice. */
export function isRepeatable({ idempotent, keyHeader }: ServiceTool): boolean {
  return idempotent || keyHeader !== undefined;
}

async function builtRequest(call: ServiceCall, { address, secret }: Target): Promise<ServiceRequest> {
  const { tool, args, context } = call;
  try {
    const request = await requestOf(tool, args, {
      address,
      secret,
      file: (record) => context.services.file(record),
    });
    const { callChain } = context.services.run;
    if (callChain.length > 0) request.headers.push([CALL_CHAIN_HEADER, callChain.join(',')]);
    if (tool.keyHeader !== undefined)
      request.headers.push([tool.keyHeader.toLowerCase(), call.idempotencyKey]);
    return request;
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    throw refuse('TOOL_ARGUMENTS_INVALID', `The tool "${tool.id}" cannot be called: ${error.message}.`);
  }
}

/**
 * Returns the credential of a call: the one that the author names, the operator's, or the one that the tenant has stored for
 * the service. Arguments have no part in it.
 */
async function secretFor(
  { tool: { credential, service: name }, credentialId, key, context }: ServiceCall,
  service: ConfiguredService,
): Promise<string | undefined> {
  if (!credential) return undefined;
  if (key !== undefined) return key;
  const { services } = context;
  if (credentialId !== undefined) {
    const found = await services.credential({ id: credentialId });
    if (found) return found.secret;
    throw refuse(
      'CREDENTIAL_UNKNOWN',
      `The service "${name}" is called with a credential that does not exist.`,
    );
  }
  // By the whole name: another server of the same document needs a credential under its own name.
  if (service.credential !== undefined) return service.credential;
  for (const type of ['oauth', 'api_key'] as const) {
    const found = await services.credential({ provider: name, type });
    if (found) return found.secret;
  }
  if (credential.optional) return undefined;
  throw refuse(
    'CREDENTIAL_UNKNOWN',
    `The service "${name}" needs a credential: set the id of a stored one in "credential", store one for the provider "${name}", or give it with --credential ${name}=VALUE.`,
  );
}

async function sendOnce(
  request: ServiceRequest,
  { context, tool }: ServiceCall,
  { http }: ConfiguredService,
): Promise<ServiceAnswer | BlockError> {
  const { signal, remainingMs = TIMEOUT_MS } = context;
  const what = `${request.method} ${request.shown}`;
  let response: Awaited<ReturnType<typeof http.fetch>>;
  try {
    response = await http.fetch({
      ...request,
      signal,
      timeoutMs: Math.max(1, Math.min(TIMEOUT_MS, remainingMs)),
    });
  } catch (error) {
    signal.throwIfAborted();
    return connectionFailure(what, error, request.pathKeys);
  }
  const { status } = response;
  const headers = Object.fromEntries(response.headers);
  const data = dataOf(response.body, headers['content-type'] ?? '');
  const refusal = refusalIn(tool, data, request);
  if (status >= 200 && status < 400 && !refusal) return { data, status, headers };
  const delayMs = retryAfterMs(headers['retry-after'], context.clock.now());
  return statusFailure(what, {
    ...{ status, refusal, retryAfterMs: delayMs, service: tool.service },
    said: hidden(refusal?.reason ?? excerpt(data), request.pathKeys),
  });
}

interface Refused {
  status: number;
  /** What the service says about it. */
  said: string;
  refusal: Refusal | undefined;
  retryAfterMs: number | undefined;
  service: string;
}

function statusFailure(what: string, refused: Refused): BlockError {
  const { status, said, refusal, service } = refused;
  return new BlockError('HTTP_FAILED', `${what} answered ${status}: ${said}${hintFor(service, status)}`, {
    retryable: isRetryableStatus(status) || refusal?.retry === true,
    ...(refused.retryAfterMs !== undefined && { retryAfterMs: refused.retryAfterMs }),
    details: { status, ...(refusal && { reason: refusal.reason, refused: refusal.retry }) },
  });
}

function connectionFailure(what: string, error: unknown, pathKeys: readonly string[]): BlockError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  const retryable = code !== 'EGRESS_DENIED' && code !== 'EGRESS_TOO_LARGE';
  const reason = hidden(error instanceof Error ? error.message : String(error), pathKeys);
  return new BlockError('HTTP_FAILED', `${what} got no answer: ${reason}`, {
    retryable,
    // A cause can have the whole path.
    ...(pathKeys.length === 0 && { cause: error }),
  });
}

/** What to do about a status. */
function hintFor(service: string, status: number): string {
  if (status === 401) return ` (the service "${service}" does not accept the credential)`;
  if (status === 403) return ` (the credential for the service "${service}" does not have the permission)`;
  return '';
}

/** Returns the text without the keys of the path, which services and errors can repeat. */
function hidden(text: string, pathKeys: readonly string[]): string {
  return pathKeys.reduce((left, key) => left.replaceAll(key, '«redacted»'), text);
}

function refusalIn(tool: ServiceTool, data: Json, { pathKeys }: ServiceRequest): Refusal | undefined {
  const refusal = failureIn(tool, data);
  return refusal && { ...refusal, reason: hidden(refusal.reason, pathKeys) };
}

function excerpt(data: Json): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data);
  return text.length > EXCERPT_CHARS ? `${text.slice(0, EXCERPT_CHARS).toWellFormed()}…` : text;
}

/** Returns a body as JSON, as text, or as `{type, size, base64}`, by its media type. */
export function dataOf(body: Uint8Array, contentType: string): Json {
  if (body.length === 0) return null;
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (type === '' || /^text\/|[/+](?:json|xml|yaml|javascript|x-ndjson|x-www-form-urlencoded)$/.test(type)) {
    const text = new TextDecoder().decode(body);
    return type === '' || /[/+]json$/.test(type) ? parsed(text) : text;
  }
  return { type, size: body.length, base64: Buffer.from(body).toString('base64') };
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** Returns an error that no retry can mend. */
export function refuse(code: string, message: string): BlockError {
  return new BlockError(code, message, { retryable: false });
}
