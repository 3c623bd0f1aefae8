import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Context } from '../define.ts';
import { invalid } from '../invalid.ts';
import type { OpenModel } from './open.ts';

type ProviderOptions = NonNullable<LanguageModelV4CallOptions['providerOptions']>;

const ANTHROPIC: ProviderOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } };
const BEDROCK: ProviderOptions = { bedrock: { cachePoint: { type: 'default' } } };
/** Models of Bedrock that cache prompts; other models refuse a call with a breakpoint. */
const BEDROCK_CACHING_MODELS =
  /anthropic\.claude-(?:3-7|opus-|sonnet-|haiku-)|amazon\.nova-(?:micro|lite|pro|premier)/;

/**
 * Returns whether the prompts of a block are cached, from its field `promptCaching`. Returns undefined if the caller
 * decides.
 *
 * Throws BLOCK_CONFIG_INVALID.
 */
export function promptCaching(context: Context): boolean | undefined {
  const value = context.field('promptCaching', 'native') ?? '';
  if (value === '') return undefined;
  if (value === true || value === 'true') return true;
  if (value === false || value === 'false') return false;
  throw invalid(context, 'has an invalid "promptCaching": it must be true or false');
}

/**
 * Returns the prompt with cache breakpoints: one after the instructions, which also covers the tools, and one at the
 * end, for the next round. Providers without breakpoints cache by themselves, or not at all.
 */
export function withCacheBreakpoints(
  prompt: LanguageModelV4Prompt,
  { provider, model }: Pick<OpenModel, 'provider' | 'model'>,
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
  if (provider === 'anthropic') return ANTHROPIC;
  return provider === 'bedrock' && BEDROCK_CACHING_MODELS.test(model) ? BEDROCK : undefined;
}
