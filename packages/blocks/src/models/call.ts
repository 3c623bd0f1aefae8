import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { BlockError, isBlockError } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import { sleep } from '../sleep.ts';
import { modelFailure, nameOfModel } from './failure.ts';
import { callMetered } from './meter.ts';
import type { MeteredCall } from './meter.ts';
import type { ResolvedModel } from './resolve.ts';
import { pauseAfterRateLimit, maxCallDelayMs } from './rate-limit.ts';
import { NonStreamingResponseError } from './streaming-fetch.ts';
import { tokensOf } from './usage.ts';
import type { TokenUsage } from './usage.ts';
import { partsOfNonStreamingResponse } from './non-streaming-response.ts';

/** Maximum number of attempts at one call that a provider temporarily refuses (429, 5xx) or does not answer. */
const MAX_ATTEMPTS = 4;
const INITIAL_RETRY_DELAY_MS = 1000;

/** The response of a model. Plain JSON, because it is stored. */
export interface ModelResponse {
  /** Text, reasoning and tool calls, in their order. */
  content: LanguageModelV4Content[];
  finishReason: LanguageModelV4FinishReason['unified'];
  tokens: TokenUsage;
}

/** The reason why a model is unavailable. Another model may answer instead. Plain JSON, because it is stored. */
export interface ModelUnavailable {
  unavailable: { code: string; message: string };
}

/** A model call. */
export interface ModelCall extends MeteredCall {
  /** True: if the model is unavailable, the step returns ModelUnavailable. False: it throws the error. */
  hasFallback: boolean;
}

/**
 * Calls a model as one durable step of the block, named `key`. Emits text and reasoning as they arrive. Text that was
 * emitted before a call failed is discarded. Retries calls that the provider temporarily refuses or does not answer.
 *
 * Throws a BlockError.
 */
export async function callModel(
  context: Context,
  key: string,
  call: ModelCall,
): Promise<ModelResponse | ModelUnavailable> {
  const callStep = async (): Promise<Json> =>
    (await callOrReturnUnavailable(context, call)) as unknown as Json;
  // Repeating a call costs money, but has no side effect.
  return (await context.step(key, callStep, { idempotent: true })) as unknown as
    | ModelResponse
    | ModelUnavailable;
}

/**
 * Calls the model. Returns ModelUnavailable if the call fails and a fallback can answer instead. This result is stored:
 * an attempt after a crash does not call the unavailable model again.
 */
async function callOrReturnUnavailable(
  context: Context,
  call: ModelCall,
): Promise<ModelResponse | ModelUnavailable> {
  try {
    return await callWithRetries(context, call);
  } catch (error) {
    context.signal.throwIfAborted();
    if (!call.hasFallback || !isBlockError(error) || error.code !== 'MODEL_FAILED') throw error;
    const { code, message } = error;
    return { unavailable: { code, message } };
  }
}

async function callWithRetries(context: Context, call: ModelCall): Promise<ModelResponse> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await callMetered(context, call, (onOutput) => callOnce(context, call, onOutput));
    } catch (error) {
      context.signal.throwIfAborted();
      const failure = modelFailure(error, { ...call.resolvedModel, nowMs: context.clock.now() });
      if (!failure.retryable) throw failure;
      const delayMs = failure.retryAfterMs ?? INITIAL_RETRY_DELAY_MS * 2 ** (attempt - 1);
      await pauseAfterRateLimit(context, call.resolvedModel, failure, delayMs);
      if (attempt === MAX_ATTEMPTS || delayMs > maxCallDelayMs(context)) throw failure;
      await context.services.withoutSlot(() => sleep(context, delayMs));
    }
  }
}

async function callOnce(
  context: Context,
  call: ModelCall,
  onOutput: (text: string) => void,
): Promise<ModelResponse> {
  const reader = new ResponseReader(context, call.resolvedModel, onOutput);
  try {
    for await (const part of await streamParts(call.resolvedModel, {
      ...call.options,
      abortSignal: context.signal,
    }))
      reader.read(part);
    return reader.response();
  } catch (error) {
    reader.discard();
    throw error;
  }
}

/**
 * Calls the model once, and returns the parts of its response. A server may respond with one document even if a stream
 * is requested.
 */
async function streamParts(
  resolvedModel: ResolvedModel,
  options: LanguageModelV4CallOptions,
): Promise<AsyncIterable<LanguageModelV4StreamPart> | Iterable<LanguageModelV4StreamPart>> {
  try {
    return (await resolvedModel.model.doStream(options)).stream;
  } catch (error) {
    if (error instanceof NonStreamingResponseError)
      return partsOfNonStreamingResponse(resolvedModel, options, error);
    throw error;
  }
}

/** Finish reasons with which a response without content and tokens is complete. */
const EMPTY_RESPONSE_REASONS: ReadonlySet<string> = new Set(['content-filter', 'length']);

type TextPart = Extract<LanguageModelV4Content, { type: 'text' | 'reasoning' }>;

/** Collects the parts of a streamed response. */
class ResponseReader {
  readonly #context: Pick<Context, 'emit'>;
  readonly #resolvedModel: ResolvedModel;
  readonly #onOutput: (text: string) => void;
  readonly #content: LanguageModelV4Content[] = [];
  /** Text and reasoning that have not ended, by the provider's id. */
  readonly #openTextParts = new Map<string, TextPart>();
  #finishInfo: Omit<ModelResponse, 'content'> | undefined;
  #hasEmittedText = false;

  /** `onOutput` receives each chunk of the output. */
  constructor(
    context: Pick<Context, 'emit'>,
    resolvedModel: ResolvedModel,
    onOutput: (text: string) => void,
  ) {
    this.#context = context;
    this.#resolvedModel = resolvedModel;
    this.#onOutput = onOutput;
  }

  read(part: LanguageModelV4StreamPart): void {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-start' || part.type === 'reasoning-start') this.#begin(part);
    else if (part.type === 'text-delta' || part.type === 'reasoning-delta') this.#add(part);
    else if (part.type === 'text-end' || part.type === 'reasoning-end') this.#keepMetadata(part);
    else if (part.type === 'tool-input-delta') this.#onOutput(part.delta);
    else if (part.type === 'tool-call') this.#content.push(part);
    else if (part.type === 'finish') this.#finish(part);
  }

  /** Returns the complete response. Throws MODEL_FAILED if it ended early or is empty. */
  response(): ModelResponse {
    const name = nameOfModel(this.#resolvedModel);
    if (!this.#finishInfo) throw new BlockError('MODEL_FAILED', `${name} ended its response early.`);
    const { finishReason, tokens } = this.#finishInfo;
    const isEmpty = this.#content.every((part) => 'text' in part && part.text === '');
    if (isEmpty && tokens.total === 0 && !EMPTY_RESPONSE_REASONS.has(finishReason))
      throw new BlockError(
        'MODEL_FAILED',
        `${name} responded with no text, no tool call and no tokens. Check that the server at the base URL of the provider implements its API.`,
        { retryable: false },
      );
    return { content: this.#content, finishReason, tokens };
  }

  /** Retracts the text that was emitted. */
  discard(): void {
    if (this.#hasEmittedText) this.#context.emit({ type: 'reset' });
  }

  #finish({ finishReason: { unified, raw }, usage }: Extract<LanguageModelV4StreamPart, { type: 'finish' }>) {
    // SDKs use these reasons for a stream that ended early.
    if (unified === 'error' || unified === 'interrupted' || (unified === 'other' && raw === undefined))
      throw new BlockError('MODEL_FAILED', `${nameOfModel(this.#resolvedModel)} ended its response early.`);
    this.#finishInfo = { finishReason: unified, tokens: tokensOf(usage) };
  }

  #begin({
    id,
    type,
    providerMetadata,
  }: Extract<LanguageModelV4StreamPart, { type: 'text-start' | 'reasoning-start' }>) {
    const kind = type === 'text-start' ? 'text' : 'reasoning';
    const textPart: TextPart = { type: kind, text: '', ...(providerMetadata && { providerMetadata }) };
    this.#openTextParts.set(id, textPart);
    this.#content.push(textPart);
  }

  #add({
    id,
    delta,
    ...part
  }: Extract<LanguageModelV4StreamPart, { type: 'text-delta' | 'reasoning-delta' }>): void {
    const textPart = this.#openTextParts.get(id);
    if (!textPart) return;
    textPart.text += delta;
    this.#keepMetadata({ id, ...part });
    if (delta === '') return;
    this.#onOutput(delta);
    this.#context.emit({ type: textPart.type === 'text' ? 'text' : 'thinking', text: delta });
    this.#hasEmittedText ||= textPart.type === 'text';
  }

  /** Keeps metadata that the provider must get back with the text, such as the signature of reasoning. */
  #keepMetadata({
    id,
    providerMetadata,
  }: {
    id: string;
    providerMetadata?: TextPart['providerMetadata'];
  }): void {
    const textPart = this.#openTextParts.get(id);
    if (textPart && providerMetadata)
      textPart.providerMetadata = { ...textPart.providerMetadata, ...providerMetadata };
  }
}

/** Returns the text of a response. */
export function textOf({ content }: Pick<ModelResponse, 'content'>): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}
