import type { Json } from '@heddle/core';

const BRAND = Symbol.for('heddle.error');

/** Codes of the error envelope: one for each status, and that of 400 for 408 too. */
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

/** Values of `details.code`: why, where the status alone does not say it. */
export type ApiDetailCode =
  | 'INSUFFICIENT_SCOPE'
  | 'INSUFFICIENT_WORKSPACE_ROLE'
  | 'PERSONAL_API_KEYS_DISABLED'
  | 'WORKSPACE_KEY_OPERATION_NOT_PERMITTED'
  | 'PRINCIPAL_KIND_NOT_PERMITTED'
  | 'PUBLIC_SHARING_NOT_ALLOWED'
  | 'WORKFLOW_NOT_DEPLOYED'
  | 'RUN_ID_CONFLICT'
  | 'CALL_CHAIN_DEPTH_EXCEEDED'
  | 'RATE_LIMIT_EXCEEDED'
  | 'EXECUTION_CONCURRENCY_LIMIT'
  | 'EXECUTION_PAYER_HEADROOM_EXHAUSTED'
  | 'EXECUTION_MEMBER_HEADROOM_EXHAUSTED'
  | 'SERVICE_OVERLOADED'
  | 'ASYNC_ENQUEUE_AMBIGUOUS';

/** Statuses of error envelopes, and the code of each. */
export const STATUS_CODES = {
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

export type ErrorStatus = keyof typeof STATUS_CODES;

/** A refusal as the envelope shows it: status, code, message, details, and the headers that go with it. */
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
    this.code = STATUS_CODES[status];
    this.details = options.details;
    this.headers = options.headers ?? {};
  }
}

/** True for an ApiError, also one of another copy of this package. */
export function isApiError(error: unknown): error is ApiError {
  return typeof error === 'object' && error !== null && (error as { [BRAND]?: string })[BRAND] === 'api';
}

export function badRequest(message: string, details?: Json): ApiError {
  return new ApiError(400, message, details === undefined ? {} : { details });
}

export function forbidden(reason: ApiDetailCode, message: string): ApiError {
  return new ApiError(403, message, { details: { code: reason } });
}

export function notFound(noun: string): ApiError {
  return new ApiError(404, `${noun} not found`);
}

export function conflict(
  message: string,
  reason?: ApiDetailCode,
  more: { [name: string]: Json } = {},
): ApiError {
  return new ApiError(409, message, reason === undefined ? {} : { details: { code: reason, ...more } });
}

/** 503 with the time after which to try again. */
export function unavailable(message = 'Service temporarily unavailable'): ApiError {
  return new ApiError(503, message, { headers: { 'Retry-After': '5' } });
}
