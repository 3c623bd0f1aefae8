import { isEngineError } from '@heddle/core';
import type { EngineError, EngineErrorCode, Json } from '@heddle/core';

const BRAND = Symbol.for('heddle.error');

/** Codes of the error envelope. Each status has one; 408 shares the code of 400. */
export type ApiErrorCode =
  | 'BAD_REQUEST'
  | 'UNAUTHORIZED'
  | 'USAGE_LIMIT_EXCEEDED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'METHOD_NOT_ALLOWED'
  | 'CONFLICT'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'LOCKED'
  | 'RATE_LIMITED'
  | 'CLIENT_CLOSED_REQUEST'
  | 'INTERNAL_ERROR'
  | 'SERVICE_UNAVAILABLE';

/** Values of `details.code`, for refusals that the status alone does not explain. */
export type ApiDetailCode =
  | 'INSUFFICIENT_SCOPE'
  | 'INSUFFICIENT_WORKSPACE_ROLE'
  | 'ORGANIZATION_MEMBERSHIP_REQUIRED'
  | 'ORGANIZATION_ADMIN_REQUIRED'
  | 'PERSONAL_API_KEYS_DISABLED'
  | 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED'
  | 'PRINCIPAL_KIND_NOT_PERMITTED'
  | 'PERMISSION_GROUP_CAPABILITY_BLOCKED'
  | 'PUBLIC_SHARING_NOT_ALLOWED'
  | 'SKILL_EDITOR_ACCESS_REQUIRED'
  | 'WORKFLOW_NOT_DEPLOYED'
  | 'RUN_ID_CONFLICT'
  | 'CALL_CHAIN_DEPTH_EXCEEDED'
  | 'RATE_LIMIT_EXCEEDED'
  | 'EXECUTION_CONCURRENCY_LIMIT'
  | 'EXECUTION_PAYER_HEADROOM_EXHAUSTED'
  | 'EXECUTION_MEMBER_HEADROOM_EXHAUSTED'
  | 'SERVICE_OVERLOADED'
  | 'ASYNC_ENQUEUE_AMBIGUOUS';

/** The code of each error status. */
export const ERROR_CODES_BY_STATUS = {
  400: 'BAD_REQUEST',
  401: 'UNAUTHORIZED',
  402: 'USAGE_LIMIT_EXCEEDED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  408: 'BAD_REQUEST',
  409: 'CONFLICT',
  413: 'PAYLOAD_TOO_LARGE',
  415: 'UNSUPPORTED_MEDIA_TYPE',
  423: 'LOCKED',
  429: 'RATE_LIMITED',
  499: 'CLIENT_CLOSED_REQUEST',
  500: 'INTERNAL_ERROR',
  503: 'SERVICE_UNAVAILABLE',
} as const satisfies { [status: number]: ApiErrorCode };

export type ErrorStatus = keyof typeof ERROR_CODES_BY_STATUS;

/** An error that is shown to the caller: status, code, message, details, and response headers. */
export class ApiError extends Error {
  readonly [BRAND] = 'api';
  readonly status: ErrorStatus;
  readonly code: ApiErrorCode;
  readonly details: Json | undefined;
  readonly headers: { readonly [name: string]: string };

  constructor(
    status: ErrorStatus,
    message: string,
    options: { details?: Json; headers?: { [name: string]: string } } = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = ERROR_CODES_BY_STATUS[status];
    this.details = options.details;
    this.headers = options.headers ?? {};
  }
}

/** Returns true for an ApiError, even of another copy of this package. */
export function isApiError(error: unknown): error is ApiError {
  return typeof error === 'object' && error !== null && (error as { [BRAND]?: string })[BRAND] === 'api';
}

const RETRY_AFTER_HEADERS = { 'Retry-After': '5' };

export function badRequest(message: string, details?: Json): ApiError {
  return new ApiError(400, message, details === undefined ? {} : { details });
}

/** The message of a 401 for an unauthenticated call. */
export const NO_CREDENTIAL = 'API key or OAuth access token required';

/** Returns a 401 with a challenge. `isBearer`: the request had an access token. */
export function unauthorized(message: string, isBearer = false): ApiError {
  const apiKeyChallenge = 'ApiKey realm="Heddle API", header="x-api-key"';
  const challenge = isBearer
    ? `Bearer realm="Heddle API", error="invalid_token", ${apiKeyChallenge}`
    : apiKeyChallenge;
  return new ApiError(401, message, { headers: { 'WWW-Authenticate': challenge } });
}

export function forbidden(reason: ApiDetailCode, message: string): ApiError {
  return new ApiError(403, message, { details: { code: reason } });
}

export function notFound(resourceName: string): ApiError {
  return new ApiError(404, `${resourceName} not found`);
}

export function conflict(message: string, reason?: ApiDetailCode): ApiError {
  return new ApiError(409, message, reason === undefined ? {} : { details: { code: reason } });
}

/** Returns a 409 for a run id that the workspace has used. */
export function runIdConflict(runId: string): ApiError {
  return new ApiError(409, 'Run ID has already been used', {
    details: { code: 'RUN_ID_CONFLICT', runId },
    headers: { 'X-Run-Id': runId },
  });
}

export function payloadTooLarge(message = 'Request body is too large'): ApiError {
  return new ApiError(413, message);
}

/** Returns a 429 with `Retry-After`, for too many runs, calls or requests. */
export function tooManyRequests(message: string, reason?: ApiDetailCode): ApiError {
  const details = reason === undefined ? {} : { details: { code: reason } };
  return new ApiError(429, message, { ...details, headers: RETRY_AFTER_HEADERS });
}

/** Returns a 499: the client has closed the connection. `runId`: the run that was cancelled because of it. */
export function clientClosedRequest(runId?: string): ApiError {
  return new ApiError(499, 'Client cancelled request', runId === undefined ? {} : { details: { runId } });
}

/** Returns a 503 with `Retry-After`. */
export function unavailable(message = 'Service temporarily unavailable', reason?: ApiDetailCode): ApiError {
  const details = reason === undefined ? {} : { details: { code: reason } };
  return new ApiError(503, message, { ...details, headers: RETRY_AFTER_HEADERS });
}

type ErrorConverter = (error: EngineError) => ApiError;

const asBadRequest: ErrorConverter = (error) => badRequest(error.message);
const asConflict: ErrorConverter = (error) => conflict(error.message);
const asUnavailable: ErrorConverter = () => unavailable();

/** The refusal for each engine error that a caller can act on. Every other engine error is an internal error. */
const ERROR_CONVERTERS: Partial<Record<EngineErrorCode, ErrorConverter>> = {
  WORKFLOW_INVALID: (error) => badRequest(error.message, error.details ?? null),
  WORKFLOW_NOT_FOUND: () => notFound('Workflow'),
  RUN_NOT_FOUND: () => notFound('Run'),
  RUN_ENDED: asConflict,
  RUN_ELSEWHERE: asConflict,
  RUN_NOT_SETTLED: asConflict,
  RESUME_POINT_NOT_FOUND: () => notFound('Pause point'),
  RESUME_POINT_CLOSED: asConflict,
  RESUME_INPUT_INVALID: asBadRequest,
  BLOCK_NOT_FOUND: asBadRequest,
  BLOCK_NOT_RESTARTABLE: asBadRequest,
  START_NOT_FOUND: asBadRequest,
  INPUT_INVALID: asBadRequest,
  OPTIONS_INVALID: asBadRequest,
  ENV_MISSING: asConflict,
  ENVIRONMENT_UNAVAILABLE: asUnavailable,
  DATA_UNREACHABLE: asUnavailable,
  DATA_UNWRITABLE: asUnavailable,
  RUNTIME_UNREACHABLE: asUnavailable,
  ENGINE_CLOSED: asUnavailable,
};

/** Returns the error that callers see for `error`; undefined for an internal error. */
export function refusalOf(error: unknown): ApiError | undefined {
  if (isApiError(error)) return error;
  return isEngineError(error) ? ERROR_CONVERTERS[error.code]?.(error) : undefined;
}

/** Returns true if the engine already has a run with the id. */
export function isRunIdTaken(error: unknown): boolean {
  return isEngineError(error) && error.code === 'RUN_ID_TAKEN';
}

/** Returns true if the engine has no run with the id. */
export function isRunNotFound(error: unknown): boolean {
  return isEngineError(error) && error.code === 'RUN_NOT_FOUND';
}
