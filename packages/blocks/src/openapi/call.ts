import { BlockError } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { ConfiguredService } from '@heddle/engine';
import type { Context } from '../define.ts';
import { rateLimitKeyOf } from '../rate-limit-key.ts';
import type { ServiceTool, ToolFile } from './file.ts';
import { withRetries } from './retry.ts';
import { outputOf } from './response.ts';
import { resolveNextPageUrl, collectPages, isSinglePageCall } from './pages.ts';
import type { NextPageRequest } from './pages.ts';
import { waitForRateLimit, pauseKey } from './rate-limit.ts';
import type { KeyRateLimit } from './rate-limit.ts';
import { requestOf } from './request.ts';
import type { ServiceRequest } from './request.ts';
import { isRateLimited, sendOnce } from './send.ts';
import type { ServiceResponse } from './send.ts';
import { uploadHeaders, sourceOf, uploadParts } from './upload.ts';
import { ArgumentError } from './wire.ts';

/** A tool call. */
export interface ServiceCall {
  tool: ServiceTool;
  args: JsonObject;
  services: ToolFile['services'];
  /** Id of the stored credential that the author has named. */
  credentialId: string | undefined;
  /** An API key that the author has set instead of a stored credential. */
  key?: string | undefined;
  idempotencyKey: string;
  context: Context;
}

/** Lets a server that runs workflows detect infinite recursion. */
const CALL_CHAIN_HEADER = 'x-sim-via';

/**
 * Calls an operation of a service. Returns the parts of the response that the tool selects. Retries a call that the
 * service temporarily refuses, if the call cannot take effect twice. Reads all pages of a list, up to the limit of the
 * tool.
 *
 * Throws a BlockError: TOOL_ARGUMENTS_INVALID, TOOL_ADDRESS_MISSING, CREDENTIAL_UNKNOWN, HTTP_FAILED,
 * TOOL_PAGES_REPEATED, FILE_TOO_LARGE.
 */
export async function callService(call: ServiceCall): Promise<ServiceResponse> {
  const { tool, args } = call;
  const { paging } = tool;
  const target = await targetOf(call);
  if (tool.upload) {
    const response = await sendFile(call, target, tool.upload);
    return { ...response, data: outputOf(tool, response.data) };
  }
  const request = await requestFor(call, target);
  const firstPage = await callWithRetries(request, call, target);
  if (!paging || isSinglePageCall(tool, args)) return { ...firstPage, data: outputOf(tool, firstPage.data) };
  const send = async (next: NextPageRequest): Promise<ServiceResponse> => {
    if ('argument' in next) {
      const nextRequest = await requestFor(
        { ...call, args: { ...args, [next.argument]: next.value } },
        target,
      );
      return callWithRetries(nextRequest, call, target);
    }
    const url = resolveNextPageUrl(next.url, { pageUrl: request.url, baseUrl: target.baseUrl, id: tool.id });
    return callWithRetries({ ...request, url }, call, target);
  };
  const { data, items } = await collectPages({ id: tool.id, paging }, { firstPage, send });
  return { ...firstPage, data: outputOf(tool, data, items) };
}

/** Sends a file: a first request with its size and type, then its parts. */
async function sendFile(
  call: ServiceCall,
  target: Target,
  upload: NonNullable<ServiceTool['upload']>,
): Promise<ServiceResponse> {
  const source = await withArgumentErrors(call.tool, () => sourceOf(upload, call));
  const request = await requestFor(call, target);
  request.headers.push(...uploadHeaders(source));
  // The first request alone uploads nothing, so it can be repeated.
  const firstResponse = await callWithRetries(
    request,
    { ...call, tool: { ...call.tool, idempotent: true } },
    target,
  );
  const send = (partRequest: ServiceRequest) => sendWithinRateLimit(partRequest, call, target);
  return uploadParts(source, { firstResponse, request, call, send });
}

/** The service, the base URL and the key of a call's requests. */
interface Target {
  service: ConfiguredService;
  baseUrl: string;
  secret: string | undefined;
  /** The state of the key that processes share; undefined for calls without a key and without a rate limit. */
  rateLimit: KeyRateLimit | undefined;
}

async function targetOf(call: ServiceCall): Promise<Target> {
  const { tool, services, context } = call;
  const service = await context.services.service(tool.service);
  const definition = Object.hasOwn(services, tool.service) ? services[tool.service] : undefined;
  const baseUrl = service.baseUrl ?? definition?.address;
  if (baseUrl === undefined)
    throw permanentError(
      'TOOL_ADDRESS_MISSING',
      `The base URL of the service "${tool.service}" is unknown: set it with --service ${tool.service}=URL.`,
    );
  const secret = await secretFor(call, service);
  const rate = service.rate ?? definition?.rate;
  const isLimited = secret !== undefined || rate !== undefined;
  const rateLimit = isLimited
    ? { rateLimitKey: rateLimitKeyOf(secret, tool.service, baseUrl), rate }
    : undefined;
  return { service, baseUrl, secret, rateLimit };
}

function callWithRetries(
  request: ServiceRequest,
  call: ServiceCall,
  target: Target,
): Promise<ServiceResponse> {
  return withRetries(
    call.context,
    () => sendWithinRateLimit(request, call, target),
    (error) => mayRepeat(error, call.tool),
  );
}

/**
 * Sends a request when the rate limit of the key allows it. Pauses the key for some time if the service rate-limits it.
 */
async function sendWithinRateLimit(
  request: ServiceRequest,
  call: ServiceCall,
  { service, rateLimit }: Target,
): Promise<ServiceResponse | BlockError> {
  const { context, tool } = call;
  if (rateLimit !== undefined) await waitForRateLimit(context, rateLimit, tool.service);
  const response = await sendOnce(request, call, service);
  if (rateLimit === undefined || !(response instanceof BlockError)) return response;
  if (response.retryAfterMs !== undefined && isRateLimited(response))
    await pauseKey(context, rateLimit, response.retryAfterMs);
  return response;
}

/** True if a call may be repeated. A refused call, such as a call with status 429, had no effect. */
function mayRepeat(failure: BlockError, tool: ServiceTool): boolean {
  return failure.retryable && (isRepeatable(tool) || isRateLimited(failure));
}

/** True if a second call with the same arguments and the same idempotency key has no further effect. */
export function isRepeatable({ idempotent, keyHeader }: ServiceTool): boolean {
  return idempotent || keyHeader !== undefined;
}

function requestFor(call: ServiceCall, { baseUrl, secret }: Target): Promise<ServiceRequest> {
  const { tool, args, context } = call;
  return withArgumentErrors(tool, async () => {
    const request = await requestOf(tool, args, {
      baseUrl,
      secret,
      readFile: (record) => context.services.readFile(record),
    });
    const { callChain } = context.services.run;
    if (callChain.length > 0) request.headers.push([CALL_CHAIN_HEADER, callChain.join(',')]);
    if (tool.keyHeader !== undefined)
      request.headers.push([tool.keyHeader.toLowerCase(), call.idempotencyKey]);
    return request;
  });
}

/** Runs `work`. Throws TOOL_ARGUMENTS_INVALID for an ArgumentError. */
async function withArgumentErrors<T>(tool: ServiceTool, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ArgumentError)) throw error;
    throw permanentError(
      'TOOL_ARGUMENTS_INVALID',
      `The tool "${tool.id}" cannot be called: ${error.message}.`,
    );
  }
}

/**
 * Returns the credential of a call: the author's choice, the operator's credential, or the tenant's stored credential
 * for the service. Arguments do not affect it.
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
    throw permanentError(
      'CREDENTIAL_UNKNOWN',
      `The service "${name}" is called with a credential that does not exist.`,
    );
  }
  // Looked up by the full name of the service: if an OpenAPI document has several servers, each needs its own
  // credential.
  if (service.credential !== undefined) return service.credential;
  for (const type of ['oauth', 'api_key'] as const) {
    const found = await services.credential({ provider: name, type });
    if (found) return found.secret;
  }
  if (credential.optional) return undefined;
  throw permanentError(
    'CREDENTIAL_UNKNOWN',
    `The service "${name}" needs a credential: set the id of a stored credential in "credential", store a credential for the provider "${name}", or pass it with --credential ${name}=VALUE.`,
  );
}

/** Returns an error that a retry cannot fix. */
export function permanentError(code: string, message: string): BlockError {
  return new BlockError(code, message, { retryable: false });
}
