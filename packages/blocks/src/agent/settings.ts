import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { BlockContext } from '@heddle/core/blocks';
import { invalidConfigError } from '../invalid-config-error.ts';
import { findServedModel } from '../models/catalog.ts';
import type { ResolvedModel } from '../models/resolve.ts';

const REASONING_LEVELS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
type ReasoningLevel = (typeof REASONING_LEVELS)[number];
const VERBOSITIES = ['low', 'medium', 'high'] as const;

/**
 * Returns the call options from the fields `temperature`, `maxTokens`, `verbosity`, and `reasoningEffort` or
 * `thinkingLevel`. Options that the model does not support are ignored: an exported workflow keeps them when its model
 * changes.
 *
 * Throws BLOCK_CONFIG_INVALID.
 */
export function modelSettings(
  context: BlockContext,
  { info, model, provider }: Pick<ResolvedModel, 'info' | 'model' | 'provider'>,
): Partial<LanguageModelV4CallOptions> {
  const capabilities = info ?? findServedModel(model.modelId);
  const temperature = numberOf(context, 'temperature', 0, 2);
  const maxOutputTokens = numberOf(context, 'maxTokens', 1, Number.MAX_SAFE_INTEGER);
  const reasoning = levelOf(context);
  const verbosity = choiceOf(context, 'verbosity', VERBOSITIES);
  return {
    ...(temperature !== undefined && capabilities?.temperature !== false && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens: Math.floor(maxOutputTokens) }),
    ...(capabilities?.reasoning === true && reasoningOptions(provider, reasoning)),
    ...(info?.provider === 'openai' &&
      verbosity !== undefined && { providerOptions: { openai: { textVerbosity: verbosity } } }),
  };
}

function reasoningOptions(
  provider: string,
  reasoning: ReasoningLevel | undefined,
): Partial<LanguageModelV4CallOptions> {
  if (reasoning === undefined) return {};
  if (provider !== 'google' || reasoning === 'none') return { reasoning };
  // Google sends its reasoning only if the request asks for it.
  return { reasoning, providerOptions: { google: { thinkingConfig: { includeThoughts: true } } } };
}

/** Returns the number in a field; undefined for an empty field. Throws BLOCK_CONFIG_INVALID. */
export function numberOf(context: BlockContext, name: string, min: number, max: number): number | undefined {
  const value = context.field(name, 'native') ?? null;
  if (value === null || value === '') return undefined;
  const number = Number(value);
  if (number >= min && number <= max) return number;
  const range = max < Number.MAX_SAFE_INTEGER ? `from ${min} to ${max}` : `of at least ${min}`;
  throw invalidConfigError(context, `has an invalid "${name}": it must be a number ${range}`);
}

/**
 * Returns the reasoning level. `max`, which only some models have, becomes `xhigh`, the highest level of all providers.
 */
function levelOf(context: BlockContext): ReasoningLevel | undefined {
  const [effort, thinking] = (['reasoningEffort', 'thinkingLevel'] as const).map((name) =>
    choiceOf(context, name, [...REASONING_LEVELS, 'max'] as const),
  );
  const level = effort ?? thinking;
  return level === 'max' ? 'xhigh' : level;
}

/**
 * Returns the value of a field; undefined for an empty field and for `auto`, which leaves the choice to the provider.
 * Throws BLOCK_CONFIG_INVALID.
 */
function choiceOf<T extends string>(
  context: BlockContext,
  name: string,
  choices: readonly T[],
): T | undefined {
  const value = context.field(name) ?? null;
  if (value === null || value === '' || value === 'auto') return undefined;
  const choice = choices.find((candidate) => candidate === value);
  if (choice !== undefined) return choice;
  throw invalidConfigError(
    context,
    `has an invalid "${name}": it must be one of auto, ${choices.join(', ')}`,
  );
}
