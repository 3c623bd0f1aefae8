import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import type { JsonObject } from '@heddle/core/blocks';
import { modelSettings, numberOf } from '../agent/settings.ts';
import type { Context } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import { callModel } from './call.ts';
import type { ModelResponse } from './call.ts';
import type { ResolvedModel, ResolvedModels } from './resolve.ts';
import { withSchemaInPrompt } from './schema-in-prompt.ts';

const MAX_COST_DOLLARS = 1e9;

type ProviderOptions = NonNullable<LanguageModelV4CallOptions['providerOptions']>;
type RequestOptions = Omit<LanguageModelV4CallOptions, 'abortSignal'>;

const ANTHROPIC_BREAKPOINT: ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } };
const BEDROCK_BREAKPOINT: ProviderOptions = { bedrock: { cachePoint: { type: 'default' } } };
/** Models of Bedrock that cache prompts; other models refuse a call with a breakpoint. */
const BEDROCK_CACHING_MODELS =
  /anthropic\.claude-(?:3-7|opus-|sonnet-|haiku-)|amazon\.nova-(?:micro|lite|pro|premier)/;

/** The models of one execution of a block. Once a model is unavailable, the next one gets all further calls. */
export class FallbackModels {
  readonly #context: Context;
  readonly #models: ResolvedModels;
  readonly #maxMicros: number | undefined;
  readonly #conversationId: string | undefined;
  readonly #usesPromptCache: boolean | undefined;
  readonly #unavailableModels: { model: string; code: string; message: string }[] = [];
  /**
   * Number of messages that precede the latest switch of models. The next model gets these messages without data that
   * only the earlier provider can read.
   */
  #messageCountBeforeSwitch = 0;

  constructor(context: Context, models: ResolvedModels) {
    this.#context = context;
    this.#models = models;
    const maxCost = numberOf(context, 'maxCost', 0, MAX_COST_DOLLARS);
    if (maxCost !== undefined) this.#maxMicros = Math.round(maxCost * 1e6);
    this.#conversationId = conversationIdOf(context);
    this.#usesPromptCache = promptCachingOf(context);
  }

  /** Returns the response of the first available model. Each call is a step, named `key`. Throws a BlockError. */
  async ask(
    key: string,
    request: RequestOptions,
  ): Promise<{ response: ModelResponse; resolvedModel: ResolvedModel }> {
    for (;;) {
      const modelIndex = this.#unavailableModels.length;
      const resolvedModel = this.#models[modelIndex] as ResolvedModel;
      const stepKey = modelIndex === 0 ? key : `${key}, fallback ${modelIndex}`;
      const response = await callModel(this.#context, stepKey, {
        resolvedModel,
        options: this.#optionsOf(resolvedModel, request),
        hasFallback: modelIndex + 1 < this.#models.length,
        maxMicros: this.#maxMicros,
        conversationId: this.#conversationId,
      });
      if (!('unavailable' in response)) return { response, resolvedModel };
      this.#unavailableModels.push({ model: nameOf(resolvedModel), ...response.unavailable });
      this.#messageCountBeforeSwitch = request.prompt.length;
    }
  }

  /** Returns fields for the output of the block: the model that answers, and the models that were unavailable. */
  outputFields(): JsonObject {
    const { model } = this.#models[this.#unavailableModels.length] as ResolvedModel;
    const unavailableModels = this.#unavailableModels.map((unavailableModel) => ({ ...unavailableModel }));
    return { model: model.modelId, ...(unavailableModels.length > 0 && { unavailable: unavailableModels }) };
  }

  #optionsOf(resolvedModel: ResolvedModel, request: RequestOptions): RequestOptions {
    const settings = modelSettings(this.#context, resolvedModel);
    const providerOptions = mergeOptions(settings.providerOptions, request.providerOptions);
    const prompt = request.prompt.map((message, index) =>
      index < this.#messageCountBeforeSwitch ? withoutProviderData(message) : message,
    );
    // Writing a prompt to the cache pays off only if it is sent again with further messages.
    const isRepeated = this.#conversationId !== undefined || (request.tools ?? []).length > 0;
    const options = withSchemaInPrompt(resolvedModel.provider, {
      ...settings,
      ...request,
      prompt,
      providerOptions,
    });
    return (this.#usesPromptCache ?? isRepeated)
      ? { ...options, prompt: withCacheBreakpoints(options.prompt, resolvedModel) }
      : options;
  }
}

function nameOf({ provider, model }: ResolvedModel): string {
  return `${provider}/${model.modelId}`;
}

/**
 * Returns the id of the conversation of an agent with a memory; otherwise undefined. The spending cap of the
 * conversation applies to its calls.
 */
function conversationIdOf(context: Context): string | undefined {
  const type = context.field('memoryType') ?? '';
  const id = context.field('conversationId');
  return type === '' || type === 'none' || typeof id !== 'string' ? undefined : id;
}

/** Returns a message without the parts that only its provider can read: reasoning, and the provider's metadata. */
function withoutProviderData(message: LanguageModelV4Message): LanguageModelV4Prompt[number] {
  if (message.role !== 'assistant') return message;
  const content = message.content.flatMap((part) => {
    const { providerOptions: _, ...otherProperties } = part;
    return part.type === 'reasoning' ? [] : [otherProperties as typeof part];
  });
  return { role: 'assistant', content };
}

function mergeOptions(base: ProviderOptions = {}, overrides: ProviderOptions = {}): ProviderOptions {
  const providers = [...new Set([...Object.keys(base), ...Object.keys(overrides)])];
  return Object.fromEntries(providers.map((name) => [name, { ...base[name], ...overrides[name] }]));
}

/**
 * Returns whether the prompts of a block are cached, from its field `promptCaching`. Undefined for an empty field: the
 * caller then decides.
 *
 * Throws BLOCK_CONFIG_INVALID.
 */
function promptCachingOf(context: Context): boolean | undefined {
  const value = context.field('promptCaching', 'native') ?? '';
  if (value === '') return undefined;
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw invalidConfigError(context, 'has an invalid "promptCaching": it must be true or false');
}

/**
 * Returns the prompt with cache breakpoints: one after the instructions, which also covers the tools, and one at the
 * end, for the next call. Providers without breakpoints cache by themselves, or not at all.
 */
function withCacheBreakpoints(
  prompt: LanguageModelV4Prompt,
  { provider, model }: Pick<ResolvedModel, 'provider' | 'model'>,
): LanguageModelV4Prompt {
  const breakpoint = breakpointOf(provider, model.modelId);
  if (!breakpoint) return prompt;
  const indexes = new Set([prompt.findLastIndex(({ role }) => role === 'system'), prompt.length - 1]);
  return prompt.map((message, index) =>
    indexes.has(index)
      ? { ...message, providerOptions: { ...message.providerOptions, ...breakpoint } }
      : message,
  );
}

function breakpointOf(provider: string, model: string): ProviderOptions | undefined {
  if (provider === 'anthropic') return ANTHROPIC_BREAKPOINT;
  return provider === 'bedrock' && BEDROCK_CACHING_MODELS.test(model) ? BEDROCK_BREAKPOINT : undefined;
}
