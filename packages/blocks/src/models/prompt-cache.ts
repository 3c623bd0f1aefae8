import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Context } from '../define.ts';
import { invalid } from '../invalid.ts';
import type { OpenModel } from './open.ts';

type ProviderOptions = NonNullable<LanguageModelV4CallOptions['providerOptions']>;

const ANTHROPIC: ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } };
const BEDROCK: ProviderOptions = { bedrock: { cachePoint: { type: 'default' } } };
/** Models of Bedrock that cache prompts; other models refuse a call with a mark. */
const BEDROCK_CACHES =
  /anthropic\.claude-(?:3-7|opus-|sonnet-|haiku-)|amazon\.nova-(?:micro|lite|pro|premier)/;

/**
 * Returns whether the prompts of a block are cached, from its field `promptCaching`. Returns undefined if the caller decides.
 *
 * Throws BLOCK_CONFIG_INVALID.
 */
export function promptCaching(context: Context): boolean | undefined {
  const value = context.field('promptCaching', 'native') ?? '';
  if (value === '') return undefined;
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw invalid(context, 'has "promptCaching" that is not true or false');
}

/**
 * Returns the prompt with marks for the provider's cache: one after the instructions, which also covers the tools, and one at
 * the end, for the next round. Providers without such marks cache by themselves, or not at all.
 */
export function markedForCache(
  prompt: LanguageModelV4Prompt,
  { provider, model }: Pick<OpenModel, 'provider' | 'model'>,
): LanguageModelV4Prompt {
  const mark = markOf(provider, model.modelId);
  if (!mark) return prompt;
  const ends = new Set([prompt.findLastIndex(({ role }) => role === 'system'), prompt.length - 1]);
  return prompt.map((message, index) =>
    ends.has(index) ? { ...message, providerOptions: { ...message.providerOptions, ...mark } } : message,
  );
}

function markOf(provider: string, model: string): ProviderOptions | undefined {
  if (provider === 'anthropic') return ANTHROPIC;
  return provider === 'bedrock' && BEDROCK_CACHES.test(model) ? BEDROCK : undefined;
}
