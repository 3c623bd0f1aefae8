import {
  APICallError,
  LoadAPIKeyError,
  NoSuchModelError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { BlockError, isBlockError } from '@heddle/core/blocks';
import { retryAfterMs } from '@heddle/core/fields';

const MAX_MESSAGE_CHARS = 1000;

const ADVICE: { readonly [status: number]: string } = {
  401: 'The key is not valid: check the block, the credential or the variable that it comes from.',
  403: 'The key may not use this model.',
  404: 'The provider does not have this model, or the address is wrong.',
  429: 'The rate limit or the quota of the key is reached.',
};

/** Returns why a call failed: MODEL_REFUSED if the provider rejects it, MODEL_FAILED if it could succeed later. */
export function modelFailure(
  error: unknown,
  call: { provider: string; model: { modelId: string }; secret: string | undefined; nowMs: number },
): BlockError {
  if (isBlockError(error)) return error;
  const cause = unwrapped(error);
  const what = `The model "${call.model.modelId}" of ${call.provider}`;
  if (APICallError.isInstance(cause)) return statusFailure(cause, what, call);
  if (UnsupportedFunctionalityError.isInstance(cause) || NoSuchModelError.isInstance(cause))
    return new BlockError('MODEL_REFUSED', `${what} cannot do this: ${cause.message}`, { retryable: false });
  if (LoadAPIKeyError.isInstance(cause))
    return new BlockError('MODEL_KEY_MISSING', `${what} needs a key.`, { retryable: false });
  return new BlockError('MODEL_FAILED', `${what} did not answer: ${messageOf(cause, call.secret)}`);
}

function statusFailure(
  error: APICallError,
  what: string,
  { secret, nowMs }: { secret: string | undefined; nowMs: number },
): BlockError {
  const { statusCode: status, isRetryable, responseHeaders = {} } = error;
  const message = messageOf(error, secret);
  if (status === undefined)
    return new BlockError('MODEL_FAILED', `${what} did not answer: ${message}`, { retryable: isRetryable });
  const advice = ADVICE[status];
  const text = `${what} answered with status ${status}: ${message}${advice ? ` ${advice}` : ''}`;
  if (!isRetryable) return new BlockError('MODEL_REFUSED', text, { retryable: false, details: { status } });
  const pauseMs = retryAfterOf(responseHeaders, nowMs);
  return new BlockError('MODEL_FAILED', text, {
    details: { status },
    ...(pauseMs !== undefined && { retryAfterMs: pauseMs }),
  });
}

/** Returns the pause that a provider asks for; undefined if it asks for none. */
function retryAfterOf(
  headers: { readonly [name: string]: string | undefined },
  nowMs: number,
): number | undefined {
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (ms >= 0) return ms;
  return retryAfterMs(headers['retry-after'], nowMs);
}

/** Providers quote the key in some messages. */
function messageOf(error: unknown, secret: string | undefined): string {
  const message = error instanceof Error ? error.message : JSON.stringify(error);
  const text = secret === undefined || secret === '' ? message : message.replaceAll(secret, '[key]');
  return text.slice(0, MAX_MESSAGE_CHARS);
}

/** SDKs wrap errors of the connection; the one of our client says what to do. */
function unwrapped(error: unknown): unknown {
  const { cause } = (error ?? {}) as { cause?: unknown };
  return APICallError.isInstance(error) && error.statusCode === undefined && cause !== undefined
    ? cause
    : error;
}
