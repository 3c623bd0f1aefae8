import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { BlockContext } from '@heddle/core/blocks';
import { invalid } from '../invalid.ts';
import type { OpenModel } from '../models/open.ts';

const LEVELS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;
type Level = (typeof LEVELS)[number];

/**
 * Returns the settings of a model from the fields `temperature`, `maxTokens`, and `reasoningEffort` or `thinkingLevel`.
 * Fields that the model does not have are ignored: they stay in an exported workflow when its model changes.
 *
 * Throws BLOCK_CONFIG_INVALID.
 */
export function modelSettings(
  context: BlockContext,
  { info }: Pick<OpenModel, 'info'>,
): Partial<LanguageModelV4CallOptions> {
  const temperature = numberOf(context, 'temperature', 0, 2);
  const maxOutputTokens = numberOf(context, 'maxTokens', 1, Number.MAX_SAFE_INTEGER);
  const reasoning = levelOf(context);
  const verbosity = context.field('verbosity');
  return {
    ...(temperature !== undefined && info?.temperature !== false && { temperature }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens: Math.floor(maxOutputTokens) }),
    ...(reasoning !== undefined && info?.reasoning === true && { reasoning }),
    ...(info?.provider === 'openai' &&
      typeof verbosity === 'string' &&
      /^(low|medium|high)$/.test(verbosity) && { providerOptions: { openai: { textVerbosity: verbosity } } }),
  };
}

/** Returns a number that a field has; undefined for an empty field. Throws BLOCK_CONFIG_INVALID. */
export function numberOf(context: BlockContext, name: string, min: number, max: number): number | undefined {
  const value = context.field(name, 'native') ?? null;
  if (value === null || value === '') return undefined;
  const number = Number(value);
  if (number >= min && number <= max) return number;
  const limits = `at least ${min}${max < Number.MAX_SAFE_INTEGER ? ` and at most ${max}` : ''}`;
  throw invalid(context, `has "${name}" that is not a number of ${limits}`);
}

/** `auto` and an empty field leave it to the provider. */
function levelOf(context: BlockContext): Level | undefined {
  const values = ['reasoningEffort', 'thinkingLevel'].map((name) => context.field(name));
  return LEVELS.find((level) => values.includes(level));
}
