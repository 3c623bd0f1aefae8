import { APICallError } from '@ai-sdk/provider';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { Context } from '../define.ts';
import { estimateOf, costBounds, estimateTokens } from './estimate.ts';
import type { ResolvedModel } from './resolve.ts';
import { waitForRateLimit } from './rate-limit.ts';
import { costOf } from './usage.ts';
import type { TokenUsage } from './usage.ts';

/** Providers whose SDK adds the tokens of reasoning to the limit of the output. */
const PROVIDERS_WITH_SEPARATE_REASONING: ReadonlySet<string> = new Set(['anthropic', 'bedrock']);

/** A call whose tokens are counted. */
export interface MeteredCall {
  resolvedModel: ResolvedModel;
  options: Omit<LanguageModelV4CallOptions, 'abortSignal'>;
  /** Maximum cost of this execution of the block, in millionths of a dollar. */
  maxMicros: number | undefined;
  /** The conversation that the call continues. */
  conversationId: string | undefined;
}

/**
 * Makes a call within the rate limit of its key and the caps on spending: waits for the rate limit, reserves the
 * highest cost, calls `work`, and settles the actual cost. `work` passes its output to `onOutput` as it arrives.
 *
 * Throws the errors of `work`, SPENDING_CAP_REACHED, SPENDING_PRICE_UNKNOWN, and MODEL_FAILED if the rate limit would
 * delay the call for too long.
 */
export async function callMetered<T extends { tokens: TokenUsage }>(
  context: Context,
  call: MeteredCall,
  work: (onOutput: (text: string) => void) => Promise<T>,
): Promise<T> {
  const { resolvedModel, options } = call;
  const { info, prices, provider } = resolvedModel;
  const limitIncludesReasoning =
    options.reasoning === undefined || !PROVIDERS_WITH_SEPARATE_REASONING.has(provider);
  const estimate = estimateOf(options, { info, limitIncludesReasoning });
  // Half of the estimate of the input: the estimate assumes two bytes per token, but English text has about four.
  // Providers count the requested limit of the output in advance; without a limit they count no output.
  const correctTokens = await waitForRateLimit(context, resolvedModel, {
    input: Math.ceil(estimate.input / 2),
    output: options.maxOutputTokens ?? 0,
  });
  const reservation = await reserve(context, call, prices && costBounds(estimate, prices));
  const inputMicros = prices ? costBounds(estimate, prices).minMicros : 0;
  const outputTokenMicros = prices
    ? costBounds({ ...estimate, output: 1 }, prices).maxMicros - inputMicros
    : 0;
  let spentMicros = inputMicros;
  const onOutput = (text: string): void => {
    spentMicros += estimateTokens(text) * outputTokenMicros;
    reservation.reportCost(spentMicros);
  };
  try {
    const result = await work(onOutput);
    const { tokens } = result;
    // Without reported tokens, the estimate of the tokens so far is charged: the call was not free.
    await reservation.settle(prices && tokens.total > 0 ? costOf(tokens, prices).total : spentMicros);
    await correctTokens(tokens.total);
    return result;
  } catch (error) {
    // A rejected request costs nothing. For a response that ended early, the provider charges input and output so far.
    await reservation.settle(isRejectedRequest(error) && spentMicros === inputMicros ? 0 : spentMicros);
    throw error;
  }
}

async function reserve(
  { services }: Context,
  { resolvedModel, maxMicros, conversationId }: MeteredCall,
  cost: { maxMicros: number; minMicros: number } | undefined,
) {
  return services.spending.reserve({
    model: `${resolvedModel.provider}/${resolvedModel.model.modelId}`,
    cost,
    ...(maxMicros !== undefined && { maxBlockMicros: maxMicros }),
    ...(conversationId !== undefined && { conversation: conversationId }),
  });
}

function isRejectedRequest(error: unknown): boolean {
  return APICallError.isInstance(error) && error.statusCode !== undefined && error.statusCode >= 400;
}
