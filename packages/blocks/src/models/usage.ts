import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import type { JsonObject } from '@heddle/core/blocks';
import { pricesFor } from './catalog.ts';
import type { Prices } from './catalog.ts';

/** Tokens of one or several calls. */
export interface TokenUsage {
  input: number;
  output: number;
  total: number;
  /** Input tokens that were read from the provider's cache. */
  cached: number;
  /** Input tokens that were written to the provider's cache. */
  cacheWrite: number;
  /** Output tokens that the model used for reasoning. */
  reasoning: number;
}

/** The cost of tokens, in millionths of a dollar; integers. */
export interface Cost {
  input: number;
  output: number;
  total: number;
}

export const NO_TOKENS: TokenUsage = {
  input: 0,
  output: 0,
  total: 0,
  cached: 0,
  cacheWrite: 0,
  reasoning: 0,
};

/** Returns the tokens of a call. Numbers that a provider does not report count as 0. */
export function tokensOf({ inputTokens, outputTokens }: LanguageModelV4Usage): TokenUsage {
  const cached = inputTokens.cacheRead ?? 0;
  const cacheWrite = inputTokens.cacheWrite ?? 0;
  const input = inputTokens.total ?? (inputTokens.noCache ?? 0) + cached + cacheWrite;
  const output = outputTokens.total ?? (outputTokens.text ?? 0) + (outputTokens.reasoning ?? 0);
  return { input, output, total: input + output, cached, cacheWrite, reasoning: outputTokens.reasoning ?? 0 };
}

/** Returns the sum of the tokens. */
export function addTokens(one: TokenUsage, other: TokenUsage): TokenUsage {
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    total: one.total + other.total,
    cached: one.cached + other.cached,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    reasoning: one.reasoning + other.reasoning,
  };
}

/** Returns the cost of the tokens. Dollars per million tokens are millionths of a dollar per token. */
export function costOf(tokens: TokenUsage, modelPrices: Prices): Cost {
  const prices = pricesFor(modelPrices, tokens.input);
  const uncached = Math.max(0, tokens.input - tokens.cached - tokens.cacheWrite);
  const input = Math.round(
    uncached * prices.input +
      tokens.cached * (prices.cachedInput ?? prices.input) +
      tokens.cacheWrite * (prices.cacheWrite ?? prices.input),
  );
  const reasoning = Math.min(tokens.reasoning, tokens.output);
  const output = Math.round(
    (tokens.output - reasoning) * prices.output + reasoning * (prices.reasoning ?? prices.output),
  );
  return { input, output, total: input + output };
}

/** Returns the sum of two costs. An unknown cost counts as 0; the sum is undefined if both are unknown. */
export function addCosts(one: Cost | undefined, other: Cost | undefined): Cost | undefined {
  if (!one || !other) return one ?? other;
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    total: one.total + other.total,
  };
}

/** Returns the cost as blocks show it: in dollars, and as integers in millionths of a dollar. */
export function costOutput({ input, output, total }: Cost): JsonObject {
  return {
    ...{ input: input / 1e6, output: output / 1e6, total: total / 1e6 },
    ...{ inputMicros: input, outputMicros: output, totalMicros: total },
  };
}
