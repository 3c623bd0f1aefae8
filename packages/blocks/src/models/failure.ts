import {
  APICallError,
  LoadAPIKeyError,
  NoSuchModelError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { BlockError, isBlockError } from '@heddle/core/blocks';
import { parseRetryAfterMs } from '@heddle/core/fields';

const MAX_MESSAGE_CHARS = 1000;

const ADVICE: { readonly [status: number]: string } = {
  401: 'The key is not valid: check the block, the credential or the variable that it comes from.',
  403: 'The key does not have access to this model.',
  404: 'The provider does not have this model, or its base URL is wrong.',
  429: 'The rate limit or the quota of the key is reached.',
};

/** The message of Anthropic's SDK for a stream whose first event it cannot read, and the message that replaces it. */
const UNREADABLE_STREAM_MESSAGES = {
  sdk: 'Expected a normalized Anthropic stream error',
  replacement: 'The first event of its stream is malformed JSON, or not an event of this API.',
};

/** Error codes of the HTTP client with the egress policy. After these errors, a retry does not help. */
const NON_RETRYABLE_CODES: ReadonlySet<unknown> = new Set(['EGRESS_DENIED', 'EGRESS_TOO_LARGE']);

interface NamedModel {
  provider: string;
  model: { modelId: string };
}

/**
 * Returns the error of a failed call: a BlockError unchanged, MODEL_REFUSED if the provider rejects the call,
 * MODEL_KEY_MISSING if the SDK has no key, else MODEL_FAILED.
 */
export function modelFailure(
  error: unknown,
  call: NamedModel & { secret: string | undefined; nowMs: number },
): BlockError {
  if (isBlockError(error)) return error;
  const cause = innerError(error);
  const subject = nameOfModel(call);
  if (APICallError.isInstance(cause)) return statusFailure(cause, subject, call);
  if (UnsupportedFunctionalityError.isInstance(cause) || NoSuchModelError.isInstance(cause))
    return new BlockError('MODEL_REFUSED', `${subject} cannot do this: ${cause.message}`, {
      retryable: false,
    });
  if (LoadAPIKeyError.isInstance(cause))
    return new BlockError('MODEL_KEY_MISSING', `${subject} needs a key.`, { retryable: false });
  const retryable = !NON_RETRYABLE_CODES.has(
    cause instanceof Error && 'code' in cause ? cause.code : undefined,
  );
  return new BlockError('MODEL_FAILED', `${subject} did not answer: ${messageOf(cause, call.secret)}`, {
    retryable,
  });
}

/** Returns how messages name a model. */
export function nameOfModel({ model, provider }: NamedModel): string {
  return `The model "${model.modelId}" of ${provider}`;
}

function statusFailure(
  error: APICallError,
  subject: string,
  { secret, nowMs }: { secret: string | undefined; nowMs: number },
): BlockError {
  const { statusCode: status, isRetryable, responseHeaders = {}, responseBody = '' } = error;
  // SDKs give no message if they cannot read the body.
  const message = messageOf(error.message.trim() === '' ? responseBody : error, secret);
  if (status === undefined)
    return new BlockError('MODEL_FAILED', `${subject} did not answer: ${message}`, {
      retryable: isRetryable,
    });
  const advice = ADVICE[status];
  const text = `${subject} responded with status ${status}: ${message}${advice ? ` ${advice}` : ''}`;
  if (!isRetryable) return new BlockError('MODEL_REFUSED', text, { retryable: false, details: { status } });
  const delayMs = requestedDelayMs(responseHeaders, nowMs);
  return new BlockError('MODEL_FAILED', text, {
    details: { status },
    ...(delayMs !== undefined && { retryAfterMs: delayMs }),
  });
}

/** Returns the delay that a provider requests, in milliseconds; undefined if it requests none. */
function requestedDelayMs(
  headers: { readonly [name: string]: string | undefined },
  nowMs: number,
): number | undefined {
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (ms >= 0) return ms;
  return parseRetryAfterMs(headers['retry-after'], nowMs);
}

/** Returns the message of an error that was thrown, or that a provider has sent as JSON. */
export function messageOf(error: unknown, secret: string | undefined): string {
  const { message } = (error ?? {}) as { message?: unknown };
  const text = [error, message].find((candidate) => typeof candidate === 'string');
  if (text === UNREADABLE_STREAM_MESSAGES.sdk) return UNREADABLE_STREAM_MESSAGES.replacement;
  return withoutSecret(text ?? JSON.stringify(error) ?? String(error), secret).slice(0, MAX_MESSAGE_CHARS);
}

/** Returns the text without the key, which providers quote in some messages. */
export function withoutSecret(text: string, secret: string | undefined): string {
  return secret === undefined || secret === '' ? text : text.replaceAll(secret, '[key]');
}

/**
 * Unwraps an error of the HTTP client with the egress policy: returns the cause of the SDK's error. Returns any other
 * error unchanged.
 */
function innerError(error: unknown): unknown {
  const { cause } = (error ?? {}) as { cause?: unknown };
  return APICallError.isInstance(error) && (error.statusCode ?? 0) < 400 && cause !== undefined
    ? cause
    : error;
}
