import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { BlockError, isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { messageOf, nameOfModel, withoutSecret } from './failure.ts';
import type { ResolvedModel } from './resolve.ts';
import type { NonStreamingResponseError } from './streaming-fetch.ts';

/** Maximum number of characters of an unreadable response that its error shows. */
const MAX_SHOWN_CHARS = 200;

/**
 * Returns the stream parts of a response that has arrived as one JSON document: each text is one delta. The provider's
 * SDK reads the document that was received; the model is not called again.
 *
 * Throws a BlockError for a document that is not a response, and the SDK's error for an error in the document.
 */
export async function partsOfNonStreamingResponse(
  resolvedModel: ResolvedModel,
  options: LanguageModelV4CallOptions,
  { text }: NonStreamingResponseError,
): Promise<LanguageModelV4StreamPart[]> {
  const document = parseDocument(resolvedModel, text);
  const status = statusOfError(resolvedModel, document);
  const headers = { 'content-type': 'application/json' };
  let requestCount = 0;
  const model = await resolvedModel.createModel(async (...request) => {
    // The SDK of Google may send a further request to continue a response.
    if (requestCount++ > 0) return resolvedModel.send(...request);
    return new Response(text, { status, headers });
  });
  try {
    const { content, finishReason, usage } = await model.doGenerate(options);
    // A document is complete even without a finish reason.
    const reason = { ...finishReason, raw: finishReason.raw ?? '' };
    return [...content.flatMap(partsOf), { type: 'finish', finishReason: reason, usage }];
  } catch (error) {
    options.abortSignal?.throwIfAborted();
    if (status !== 200 || requestCount > 1) throw error;
    throw responseError(resolvedModel, 'JSON that is not a response of this API', text);
  }
}

function partsOf(
  content: Awaited<ReturnType<ResolvedModel['model']['doGenerate']>>['content'][number],
  index: number,
): LanguageModelV4StreamPart[] {
  const id = String(index);
  if (content.type === 'tool-call')
    return [{ type: 'tool-input-delta', id: content.toolCallId, delta: content.input }, content];
  if (content.type !== 'text' && content.type !== 'reasoning') return [];
  const { type, text, providerMetadata } = content;
  return [
    { type: `${type}-start`, id, ...(providerMetadata && { providerMetadata }) },
    { type: `${type}-delta`, id, delta: text },
    { type: `${type}-end`, id },
  ];
}

function parseDocument(resolvedModel: ResolvedModel, text: string): Json {
  const trimmedText = text.trimStart();
  if (trimmedText === '') throw responseError(resolvedModel, 'an empty body', '');
  if (trimmedText.startsWith('<')) throw responseError(resolvedModel, 'a web page', trimmedText);
  try {
    return JSON.parse(trimmedText) as Json;
  } catch {
    const isJson = trimmedText.startsWith('{') || trimmedText.startsWith('[');
    throw responseError(
      resolvedModel,
      isJson ? 'malformed JSON' : 'text that is neither a stream nor JSON',
      trimmedText,
    );
  }
}

/**
 * Returns the status for a document: the status of the error in the document, or 200 if it has none. Gateways send
 * errors of providers as successful responses. Throws MODEL_FAILED, which is retried, if the error has no status.
 */
function statusOfError(resolvedModel: ResolvedModel, document: Json): number {
  if (!isJsonObject(document)) return 200;
  const error = document['error'] ?? (document['object'] === 'error' ? document : undefined);
  if (error === undefined || error === null) return 200;
  const { code, status }: JsonObject = isJsonObject(error) ? error : {};
  const errorStatus = [code, status].map(Number).find((candidate) => candidate >= 400 && candidate < 600);
  if (errorStatus !== undefined) return errorStatus;
  const message = messageOf(error, resolvedModel.secret);
  throw new BlockError('MODEL_FAILED', `${nameOfModel(resolvedModel)} responded with an error: ${message}`);
}

/** Returns an error that is not retried: another attempt would get the same response. */
function responseError(resolvedModel: ResolvedModel, description: string, text: string): BlockError {
  const excerpt = withoutSecret(text.trim(), resolvedModel.secret).slice(0, MAX_SHOWN_CHARS);
  const message = `${nameOfModel(resolvedModel)} responded with ${description}. Check the base URL of the provider and the gateways in front of it.${excerpt === '' ? '' : ` The response begins with: ${excerpt}`}`;
  return new BlockError('MODEL_FAILED', message, { retryable: false });
}
