import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { BlockError } from '@heddle/core/blocks';
import type { BlockContext, Json } from '@heddle/core/blocks';
import { pause } from '../pause.ts';
import { modelFailure } from './failure.ts';
import { tokensOf } from './usage.ts';
import type { Tokens } from './usage.ts';

/** Attempts at one call that a provider refuses for now (429, 5xx) or does not answer. */
const MAX_ATTEMPTS = 4;
const FIRST_PAUSE_MS = 1000;
/** A provider that asks for a longer pause fails the block, whose own retries may wait. */
const MAX_PAUSE_MS = 60_000;

/** What a model has answered. Plain JSON, because it is stored. */
export interface Answer {
  /** Text, reasoning and calls of tools, in their order. */
  content: LanguageModelV4Content[];
  finishReason: LanguageModelV4FinishReason['unified'];
  tokens: Tokens;
}

/** A call of a model. */
export interface ModelCall {
  model: LanguageModelV4;
  /** The provider's name, for messages. */
  provider: string;
  /** Key of the provider, which is removed from messages. */
  secret: string | undefined;
  options: Omit<LanguageModelV4CallOptions, 'abortSignal'>;
}

/**
 * Calls a model as one durable step of the block, named `key`. Emits text and reasoning as they arrive; the text of a call
 * that breaks off is discarded. Calls that the provider refuses for now are repeated.
 *
 * Throws a BlockError.
 */
export async function callModel(context: BlockContext, key: string, call: ModelCall): Promise<Answer> {
  // Repeating a call costs money but has no effect.
  const answer = await context.step(
    key,
    async () => (await callUntilAnswered(context, call)) as unknown as Json,
    {
      idempotent: true,
    },
  );
  return answer as unknown as Answer;
}

async function callUntilAnswered(context: BlockContext, call: ModelCall): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await callOnce(context, call);
    } catch (error) {
      context.signal.throwIfAborted();
      const failure = modelFailure(error, call);
      if (!failure.retryable || attempt === MAX_ATTEMPTS) throw failure;
      const pauseMs = failure.retryAfterMs ?? FIRST_PAUSE_MS * 2 ** (attempt - 1);
      if (pauseMs > Math.min(MAX_PAUSE_MS, context.remainingMs ?? Infinity)) throw failure;
      await pause(context, pauseMs);
    }
  }
}

async function callOnce(context: BlockContext, { model, options }: ModelCall): Promise<Answer> {
  const { stream } = await model.doStream({ ...options, abortSignal: context.signal });
  const reader = new AnswerReader(context);
  try {
    for await (const part of stream) reader.read(part);
    return reader.answer();
  } catch (error) {
    reader.discard();
    throw error;
  }
}

type Texts = Extract<LanguageModelV4Content, { type: 'text' | 'reasoning' }>;

/** Collects the parts of a streamed answer. */
class AnswerReader {
  readonly #context: Pick<BlockContext, 'emit'>;
  readonly #content: LanguageModelV4Content[] = [];
  /** Text and reasoning that have not ended, by the provider's id. */
  readonly #open = new Map<string, Texts>();
  #finished: Omit<Answer, 'content'> | undefined;
  #emitted = false;

  constructor(context: Pick<BlockContext, 'emit'>) {
    this.#context = context;
  }

  read(part: LanguageModelV4StreamPart): void {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-start' || part.type === 'reasoning-start') this.#begin(part);
    else if (part.type === 'text-delta' || part.type === 'reasoning-delta') this.#add(part);
    else if (part.type === 'text-end' || part.type === 'reasoning-end') this.#keepMetadata(part);
    else if (part.type === 'tool-call') this.#content.push(part);
    else if (part.type === 'finish') {
      const { finishReason, usage } = part;
      this.#finished = { finishReason: finishReason.unified, tokens: tokensOf(usage) };
    }
  }

  answer(): Answer {
    if (this.#finished && this.#finished.finishReason !== 'error')
      return { content: this.#content, ...this.#finished };
    throw new BlockError('MODEL_FAILED', 'The answer of the model broke off.');
  }

  /** Retracts the text that was emitted. */
  discard(): void {
    if (this.#emitted) this.#context.emit({ type: 'reset' });
  }

  #begin({
    id,
    type,
    providerMetadata,
  }: Extract<LanguageModelV4StreamPart, { type: 'text-start' | 'reasoning-start' }>) {
    const kind = type === 'text-start' ? 'text' : 'reasoning';
    const texts: Texts = { type: kind, text: '', ...(providerMetadata && { providerMetadata }) };
    this.#open.set(id, texts);
    this.#content.push(texts);
  }

  #add({
    id,
    delta,
    ...part
  }: Extract<LanguageModelV4StreamPart, { type: 'text-delta' | 'reasoning-delta' }>): void {
    const texts = this.#open.get(id);
    if (!texts) return;
    texts.text += delta;
    this.#keepMetadata({ id, ...part });
    if (delta === '') return;
    this.#context.emit({ type: texts.type === 'text' ? 'text' : 'thinking', text: delta });
    this.#emitted ||= texts.type === 'text';
  }

  /** Keeps what the provider wants to read again with the text, such as the signature of reasoning. */
  #keepMetadata({
    id,
    providerMetadata,
  }: {
    id: string;
    providerMetadata?: Texts['providerMetadata'];
  }): void {
    const texts = this.#open.get(id);
    if (texts && providerMetadata)
      texts.providerMetadata = { ...texts.providerMetadata, ...providerMetadata };
  }
}

/** Returns the text of an answer. */
export function textOf({ content }: Pick<Answer, 'content'>): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
}
