import type { BlocksOptions, ModelRateLimits, Prices } from '@heddle/blocks';
import type { EngineOptions } from '@heddle/engine';
import { UsageError } from './usage-error.ts';

type MaxCost = NonNullable<EngineOptions['maxCost']>;
type WindowedCost = NonNullable<MaxCost['tenant']>;
type CapWindow = NonNullable<WindowedCost['per']>;

/** Options for the cost of models, and for the rates of model and service calls. */
export interface SpendingOptions {
  /** `SCOPE=DOLLARS[/WINDOW]`. */
  maxCost?: readonly string[];
  /** `PROVIDER/MODEL=INPUT,OUTPUT[,CACHED]`. */
  price?: readonly string[];
  /** `PROVIDER=REQUESTS[,TOKENS]`. */
  modelRate?: readonly string[];
  /** `SERVICE=CALLS/SECONDS`. */
  serviceRate?: readonly string[];
  /** Names of models. */
  fallbackModel?: readonly string[];
}

const COST_HINT =
  'Examples: --max-cost call=0.10, run=1, conversation=5, workspace=20/day. Windows: hour, day, month.';
const PRICE_HINT = 'Example, in dollars for a million tokens: --price azure/my-deployment=2.50,10';
const RATE_HINT = 'Example, per minute: --model-rate openai=500,200000, or openai=,200000 for tokens only';

/** Returns the cost caps of an engine. Throws usage errors. */
export function maxCostOf({ maxCost = [] }: SpendingOptions): MaxCost {
  const caps: MaxCost = {};
  for (const text of maxCost) {
    const match = /^(call|run|conversation|workspace)=(\d+(?:\.\d+)?)(?:\/(hour|day|month))?$/.exec(text);
    if (!match) throw new UsageError(`--max-cost takes SCOPE=DOLLARS[/WINDOW], not "${text}".`, COST_HINT);
    const [, scope, amount, window] = match;
    const dollars = Number(amount);
    const cap: WindowedCost = { dollars, ...(window !== undefined && { per: window as CapWindow }) };
    if (scope === 'conversation') caps.conversation = cap;
    else if (scope === 'workspace') caps.tenant = cap;
    else if (window !== undefined)
      throw new UsageError(`--max-cost ${scope}= takes no window: it caps each ${scope}.`, COST_HINT);
    else if (scope === 'call') caps.call = dollars;
    else caps.run = dollars;
  }
  return caps;
}

/** Returns the options of blocks for models. Throws usage errors. */
export function modelOptionsOf({
  price = [],
  modelRate = [],
  fallbackModel = [],
}: SpendingOptions): Pick<BlocksOptions, 'prices' | 'rateLimits' | 'fallbackModels'> {
  return {
    ...(price.length > 0 && { prices: Object.fromEntries(price.map(parsePrice)) }),
    ...(modelRate.length > 0 && { rateLimits: Object.fromEntries(modelRate.map(parseModelRate)) }),
    ...(fallbackModel.length > 0 && { fallbackModels: fallbackModel }),
  };
}

function parsePrice(text: string): [string, Prices] {
  const match = /^([^=/]+\/[^=]+)=(\d+(?:\.\d+)?),(\d+(?:\.\d+)?)(?:,(\d+(?:\.\d+)?))?$/.exec(text);
  if (!match)
    throw new UsageError(`--price takes PROVIDER/MODEL=INPUT,OUTPUT[,CACHED], not "${text}".`, PRICE_HINT);
  const [, model = '', input, output, cached] = match;
  const cachedInput = cached === undefined ? {} : { cachedInput: Number(cached) };
  return [model, { input: Number(input), output: Number(output), ...cachedInput }];
}

function parseModelRate(text: string): [string, ModelRateLimits] {
  const match = /^([^=,]+)=(?:([1-9]\d*)(?:,([1-9]\d*))?|,([1-9]\d*))$/.exec(text);
  if (!match)
    throw new UsageError(`--model-rate takes PROVIDER=REQUESTS[,TOKENS], not "${text}".`, RATE_HINT);
  const [, provider = '', requests, tokensAfterRequests, tokensWithoutRequests] = match;
  const tokens = tokensAfterRequests ?? tokensWithoutRequests;
  return [
    provider,
    {
      ...(requests !== undefined && { requestsPerMinute: Number(requests) }),
      ...(tokens !== undefined && { tokensPerMinute: Number(tokens) }),
    },
  ];
}

/** Returns the rates of services. Throws usage errors. */
export function serviceRatesOf({
  serviceRate = [],
}: SpendingOptions): NonNullable<EngineOptions['serviceRates']> {
  return Object.fromEntries(
    serviceRate.map((text) => {
      const match = /^([^=]+)=([1-9]\d{0,6})\/([1-9]\d{0,4})$/.exec(text);
      if (!match)
        throw new UsageError(
          `--service-rate takes SERVICE=CALLS/SECONDS, not "${text}".`,
          'Example, 100 calls in a minute for each credential: --service-rate google_drive=100/60',
        );
      const [, name = '', calls, seconds] = match;
      return [name, { calls: Number(calls), seconds: Number(seconds) }];
    }),
  );
}

/** Returns the options as command-line arguments. */
export function spendingArgs(options: SpendingOptions): string[] {
  const { maxCost = [], price = [], modelRate = [], serviceRate = [], fallbackModel = [] } = options;
  return [
    ...maxCost.flatMap((text) => ['--max-cost', text]),
    ...price.flatMap((text) => ['--price', text]),
    ...modelRate.flatMap((text) => ['--model-rate', text]),
    ...serviceRate.flatMap((text) => ['--service-rate', text]),
    ...fallbackModel.flatMap((text) => ['--fallback-model', text]),
  ];
}
