import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { BlockContext } from '@heddle/core/blocks';
import { invalid } from '../invalid.ts';
import { servedModel } from '../models/catalog.ts';
import type { OpenModel } from '../models/open.ts';

const LEVELS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
type Level = (typeof LEVELS)[number];
const VERBOSITIES = ['low', 'medium', 'high'] as const;

/**
 * Returns the settings of a model from the fields `temperature`, `maxTokens`, and `reasoningEffort` or `thinkingLevel`.
 * Fields that the model does not have are ignored: they stay in an exported workflow when its model changes.
 *
 * Throws BLOCK_CONFIG_INVALID.
 */
export function modelSettings(
  context: BlockContext,
  { info, model, provider }: Pick<OpenModel, 'info' | 'model' | 'provider'>,
): Partial<LanguageModelV4CallOptions> {
  const abilities = info ?? servedModel(model.modelId);
  const temperature = numberOf(context, 'temperature', 0, 2);
  const maxOutputTokens = numberOf(context, 'maxTokens', 1, Number.MAX_SAFE_INTEGER);
  const reasoning = levelOf(context);
  const verbosity = choiceOf(context, 'verbosity', VERBOSITIES);
  return {
    ...(temperature !== undefined && abilities?.temperature !== false && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens: Math.floor(maxOutputTokens) }),
    ...(abilities?.reasoning === true && reasoningOptions(provider, reasoning)),
    ...(info?.provider === 'openai' &&
      verbosity !== undefined && { providerOptions: { openai: { textVerbosity: verbosity } } }),
  };
}

function reasoningOptions(
  provider: string,
  reasoning: Level | undefined,
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
  const limits = `at least ${min}${max < Number.MAX_SAFE_INTEGER ? ` and at most ${max}` : ''}`;
  throw invalid(context, `has "${name}" that is not a number of ${limits}`);
}

/** Returns the level. `max`, a level of some models, becomes `xhigh`, the highest level that all providers share. */
function levelOf(context: BlockContext): Level | undefined {
  const [effort, thinking] = (['reasoningEffort', 'thinkingLevel'] as const).map((name) =>
    choiceOf(context, name, [...LEVELS, 'max'] as const),
  );
  const level = effort ?? thinking;
  return level === 'max' ? 'xhigh' : level;
}

/**
 * Returns the value of a field; undefined for an empty field and for `auto`: the provider decides. Throws BLOCK_CONFIG_INVALID.
 */
function choiceOf<T extends string>(
  context: BlockContext,
  name: string,
  choices: readonly T[],
): T | undefined {
  const value = context.field(name) ?? null;
  if (value === null || value === '' || value === 'auto') return undefined;
  const choice = choices.find((each) => each === value);
  if (choice !== undefined) return choice;
  throw invalid(context, `has "${name}" that is not one of auto, ${choices.join(', ')}`);
}
