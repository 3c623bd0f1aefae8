import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FilePart,
  LanguageModelV4Prompt,
} from '@ai-sdk/provider';
import { pricesFor } from './catalog.ts';
import type { ModelInfo, Prices } from './catalog.ts';

/** English text has about four bytes per token, and most other languages and code at least two. */
const BYTES_PER_TOKEN = 2;
/** Tokens that a provider adds to each message and tool. */
const TOKENS_PER_MESSAGE_OR_TOOL = 16;
/** Tokens of one image: more than any provider counts for an image of usual size. */
const TOKENS_PER_IMAGE = 6000;
/** Assumed output of a model whose maximum is unknown: more than most models can write. */
const ASSUMED_OUTPUT_TOKENS = 128_000;

/** The number of tokens that a call can use. */
export interface Estimate {
  input: number;
  output: number;
}

type CallOptions = Pick<
  LanguageModelV4CallOptions,
  'prompt' | 'tools' | 'maxOutputTokens' | 'responseFormat'
>;

/**
 * Estimates the maximum number of tokens of a call: input from its bytes, up to the model's context; output from the
 * limit of the call, else from the model's maximum. If the limit does not include reasoning
 * (`limitIncludesReasoning`), only the model's maximum applies.
 */
export function estimateOf(
  options: CallOptions,
  {
    info,
    limitIncludesReasoning,
  }: { info: Pick<ModelInfo, 'context' | 'output'> | undefined; limitIncludesReasoning: boolean },
): Estimate {
  const { prompt, tools = [], maxOutputTokens, responseFormat } = options;
  const toolTokens =
    estimateTokens(JSON.stringify([tools, responseFormat ?? null])) +
    TOKENS_PER_MESSAGE_OR_TOOL * tools.length;
  const input =
    toolTokens +
    prompt.reduce((sum, message) => sum + TOKENS_PER_MESSAGE_OR_TOOL + estimateMessageTokens(message), 0);
  const maxOutput = info?.output ?? info?.context ?? ASSUMED_OUTPUT_TOKENS;
  const limit = limitIncludesReasoning ? (maxOutputTokens ?? maxOutput) : maxOutput;
  return {
    input: Math.min(input, info?.context ?? Infinity),
    output: Math.min(limit, maxOutput),
  };
}

/**
 * Returns the bounds of the cost of an estimate, in millionths of a dollar, as if all input were written to the cache.
 * `maxMicros`: the cost of the input and the output. `minMicros`: the cost of the input alone.
 */
export function costBounds(
  { input, output }: Estimate,
  modelPrices: Prices,
): { maxMicros: number; minMicros: number } {
  const prices = pricesFor(modelPrices, input);
  const inputPrice = Math.max(prices.input, prices.cacheWrite ?? 0);
  const outputPrice = Math.max(prices.output, prices.reasoning ?? 0);
  return {
    maxMicros: Math.ceil(input * inputPrice + output * outputPrice),
    minMicros: Math.ceil(input * inputPrice),
  };
}

/** Estimates the number of tokens of a text. */
export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

function estimateMessageTokens({ content }: LanguageModelV4Prompt[number]): number {
  if (typeof content === 'string') return estimateTokens(content);
  return content.reduce((sum, part) => {
    if (part.type === 'text' || part.type === 'reasoning') return sum + estimateTokens(part.text);
    if (part.type !== 'file') return sum + estimateTokens(JSON.stringify(part));
    return sum + (part.mediaType.startsWith('image/') ? TOKENS_PER_IMAGE : estimateFileTokens(part.data));
  }, 0);
}

function estimateFileTokens(data: LanguageModelV4FilePart['data']): number {
  if (data.type === 'text') return estimateTokens(data.text);
  if (data.type !== 'data') return TOKENS_PER_IMAGE;
  const bytes = typeof data.data === 'string' ? (data.data.length * 3) / 4 : data.data.byteLength;
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}
