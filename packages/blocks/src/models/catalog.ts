import { PROVIDER_NAMES } from './providers.ts';

/** Dollars per million tokens. */
export interface Prices extends TokenPrices {
  /** The prices of all tokens of a call with more than `above` input tokens. Absent: the same prices. */
  long?: TokenPrices & { above: number };
}

/** Dollars per million tokens of each kind. */
export interface TokenPrices {
  input: number;
  output: number;
  /** Input that the provider read from its cache. Absent: as `input`. */
  cachedInput?: number;
  /** Input that the provider wrote to its cache. Absent: as `input`. */
  cacheWrite?: number;
  /** Output that the model used for reasoning. Absent: as `output`. */
  reasoning?: number;
}

/** The properties of a model. */
export interface ModelInfo {
  id: string;
  provider: string;
  /** Maximum total of input and output, in tokens. */
  context: number;
  /** Maximum output in tokens, including reasoning. */
  output: number;
  prices: Prices;
  /** The source of the prices, the context and the capabilities. */
  source: Source;
  /** False: it does not accept a temperature. */
  temperature?: false;
  /** True if a request can set its reasoning level. */
  reasoning?: true;
}

/** A page with properties of models. */
export interface Source {
  url: string;
  /** The date on which it was checked, as YYYY-MM-DD. */
  checkedOn: string;
}

/** A model to call. `id`: its name at the provider. `info` is undefined for a model that is not in the table. */
export interface ChosenModel {
  provider: string;
  id: string;
  info: ModelInfo | undefined;
}

type Row = [
  id: string,
  context: number,
  output: number,
  prices: Prices,
  /** `source`: only if it differs from the source of the provider's table. */
  overrides?: Partial<Pick<ModelInfo, 'temperature' | 'reasoning' | 'source'>>,
];

interface ProviderTable {
  source: Source;
  models: readonly Row[];
}

/** Models that reason and accept no temperature. */
const NO_TEMPERATURE = { temperature: false, reasoning: true } as const;
/** Models whose reasoning level can be set. */
const REASONING = { reasoning: true } as const;

const PRICE_LIST: Source = {
  url: 'https://github.com/BerriAI/litellm/blob/00035b69f416be24e2e323c13198d9b7d2d1bdf9/model_prices_and_context_window.json',
  checkedOn: '2026-11-26',
};
const ANTHROPIC: Source = {
  url: 'https://platform.claude.com/docs/en/about-claude/pricing',
  checkedOn: '2026-11-25',
};
/** Quotes the provider's prices as of the retirement of its older model names. */
const DEEPSEEK: Source = { url: 'https://github.com/garrytan/gbrain/pull/3449', checkedOn: '2026-11-26' };
/** Quotes the provider's model card and prices. */
const MISTRAL_SMALL: Source = {
  url: 'https://github.com/majiayu000/litellm-rs/issues/1214',
  checkedOn: '2026-11-26',
};

const LONG_GPT_5_4 = { above: 272_000, input: 5, cachedInput: 0.5, output: 22.5 };
const LONG_GPT_5_5 = { above: 272_000, input: 10, cachedInput: 1, output: 45 };
const LONG_GEMINI_2 = { above: 200_000, input: 2.5, cachedInput: 0.25, output: 15 };
const LONG_GEMINI_3 = { above: 200_000, input: 4, cachedInput: 0.4, output: 18 };
const LONG_GROK_4 = { above: 128_000, input: 6, output: 30 };
const LONG_GROK_FAST = { above: 128_000, input: 0.4, output: 1 };
const LONG_GROK_4_3 = { above: 200_000, input: 2.5, cachedInput: 0.4, output: 5 };
const LONG_GROK_4_5 = { above: 200_000, input: 4, cachedInput: 1, output: 12 };

const OPUS = { input: 15, cachedInput: 1.5, cacheWrite: 18.75, output: 75 };
const OPUS_4_5 = { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 };
const SONNET = { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 };
const HAIKU = { input: 1, cachedInput: 0.1, cacheWrite: 1.25, output: 5 };
const GEMINI_3_PRO = { input: 2, cachedInput: 0.2, output: 12, long: LONG_GEMINI_3 };
const GROK_FAST = { input: 0.2, cachedInput: 0.05, output: 0.5, long: LONG_GROK_FAST };
const DEEPSEEK_FLASH = { input: 0.14, cachedInput: 0.0028, output: 0.28 };

/**
 * Public list prices in dollars. A model without a row can be called too; the cost of its calls is unknown. Reasoning
 * costs as much as other output at all of these providers. Providers change their prices, and the model to which an
 * alias such as `mistral-medium-latest` refers: `prices` and `--price` override the prices of a row.
 */
const TABLE: { readonly [provider: string]: ProviderTable } = {
  openai: {
    source: PRICE_LIST,
    models: [
      [
        'gpt-5.5',
        1_050_000,
        128_000,
        { input: 5, cachedInput: 0.5, output: 30, long: LONG_GPT_5_5 },
        NO_TEMPERATURE,
      ],
      [
        'gpt-5.4',
        1_050_000,
        128_000,
        { input: 2.5, cachedInput: 0.25, output: 15, long: LONG_GPT_5_4 },
        NO_TEMPERATURE,
      ],
      ['gpt-5.4-mini', 1_050_000, 128_000, { input: 0.75, cachedInput: 0.075, output: 4.5 }, NO_TEMPERATURE],
      ['gpt-5.4-nano', 1_050_000, 128_000, { input: 0.2, cachedInput: 0.02, output: 1.25 }, NO_TEMPERATURE],
      ['gpt-5.2', 400_000, 128_000, { input: 1.75, cachedInput: 0.175, output: 14 }, NO_TEMPERATURE],
      ['gpt-5.1', 400_000, 128_000, { input: 1.25, cachedInput: 0.125, output: 10 }, NO_TEMPERATURE],
      ['gpt-5', 400_000, 128_000, { input: 1.25, cachedInput: 0.125, output: 10 }, NO_TEMPERATURE],
      ['gpt-5-mini', 400_000, 128_000, { input: 0.25, cachedInput: 0.025, output: 2 }, NO_TEMPERATURE],
      ['gpt-5-nano', 400_000, 128_000, { input: 0.05, cachedInput: 0.005, output: 0.4 }, NO_TEMPERATURE],
      ['gpt-4.1', 1_047_576, 32_768, { input: 2, cachedInput: 0.5, output: 8 }],
      ['gpt-4.1-mini', 1_047_576, 32_768, { input: 0.4, cachedInput: 0.1, output: 1.6 }],
      ['gpt-4.1-nano', 1_047_576, 32_768, { input: 0.1, cachedInput: 0.025, output: 0.4 }],
      ['gpt-4o', 128_000, 16_384, { input: 2.5, cachedInput: 1.25, output: 10 }],
      ['gpt-4o-2024-05-13', 128_000, 4_096, { input: 5, output: 15 }],
      ['gpt-4o-mini', 128_000, 16_384, { input: 0.15, cachedInput: 0.075, output: 0.6 }],
      ['o3', 200_000, 100_000, { input: 2, cachedInput: 0.5, output: 8 }, NO_TEMPERATURE],
      ['o3-mini', 200_000, 100_000, { input: 1.1, cachedInput: 0.55, output: 4.4 }, NO_TEMPERATURE],
      ['o4-mini', 200_000, 100_000, { input: 1.1, cachedInput: 0.275, output: 4.4 }, NO_TEMPERATURE],
    ],
  },
  anthropic: {
    source: ANTHROPIC,
    models: [
      ['claude-opus-4-5', 200_000, 64_000, OPUS_4_5, REASONING],
      ['claude-opus-4-1', 200_000, 32_000, OPUS, REASONING],
      ['claude-sonnet-4-6', 1_000_000, 64_000, SONNET, { ...REASONING, source: PRICE_LIST }],
      ['claude-sonnet-4-5', 200_000, 64_000, SONNET, REASONING],
      ['claude-sonnet-4-0', 200_000, 64_000, SONNET, REASONING],
      ['claude-haiku-4-5', 200_000, 64_000, HAIKU, REASONING],
      [
        'claude-3-5-haiku-latest',
        200_000,
        8_192,
        { input: 0.8, cachedInput: 0.08, cacheWrite: 1, output: 4 },
      ],
    ],
  },
  google: {
    source: PRICE_LIST,
    models: [
      ['gemini-3.5-flash', 1_048_576, 65_535, { input: 1.5, cachedInput: 0.15, output: 9 }, REASONING],
      ['gemini-3.1-pro-preview', 1_048_576, 65_536, GEMINI_3_PRO, REASONING],
      [
        'gemini-3.1-flash-lite',
        1_048_576,
        65_536,
        { input: 0.25, cachedInput: 0.025, output: 1.5 },
        REASONING,
      ],
      ['gemini-3-pro-preview', 1_048_576, 65_535, GEMINI_3_PRO, REASONING],
      ['gemini-3-flash-preview', 1_048_576, 65_535, { input: 0.5, cachedInput: 0.05, output: 3 }, REASONING],
      [
        'gemini-2.5-pro',
        1_048_576,
        65_535,
        { input: 1.25, cachedInput: 0.125, output: 10, long: LONG_GEMINI_2 },
        REASONING,
      ],
      ['gemini-2.5-flash', 1_048_576, 65_535, { input: 0.3, cachedInput: 0.03, output: 2.5 }, REASONING],
      ['gemini-2.5-flash-lite', 1_048_576, 65_535, { input: 0.1, cachedInput: 0.01, output: 0.4 }, REASONING],
      ['gemini-2.0-flash', 1_048_576, 8_192, { input: 0.1, cachedInput: 0.025, output: 0.4 }],
    ],
  },
  mistral: {
    source: PRICE_LIST,
    models: [
      ['mistral-large-latest', 262_144, 262_144, { input: 0.5, output: 1.5 }],
      ['mistral-medium-latest', 262_144, 262_144, { input: 1.5, output: 7.5 }],
      ['mistral-medium-2508', 131_072, 131_072, { input: 0.4, output: 2 }],
      [
        'mistral-small-latest',
        256_000,
        256_000,
        { input: 0.15, cachedInput: 0.015, output: 0.6 },
        { source: MISTRAL_SMALL },
      ],
    ],
  },
  groq: {
    source: PRICE_LIST,
    models: [
      ['llama-3.3-70b-versatile', 128_000, 32_768, { input: 0.59, output: 0.79 }],
      ['llama-3.1-8b-instant', 128_000, 8_192, { input: 0.05, output: 0.08 }],
      ['openai/gpt-oss-120b', 131_072, 32_766, { input: 0.15, cachedInput: 0.075, output: 0.6 }, REASONING],
      ['openai/gpt-oss-20b', 131_072, 32_768, { input: 0.075, cachedInput: 0.0375, output: 0.3 }, REASONING],
    ],
  },
  xai: {
    source: PRICE_LIST,
    models: [
      ['grok-4.5', 500_000, 500_000, { input: 2, cachedInput: 0.5, output: 6, long: LONG_GROK_4_5 }],
      ['grok-4.3', 1_000_000, 1_000_000, { input: 1.25, cachedInput: 0.2, output: 2.5, long: LONG_GROK_4_3 }],
      ['grok-4', 256_000, 256_000, { input: 3, output: 15, long: LONG_GROK_4 }],
      ['grok-4-fast-reasoning', 2_000_000, 2_000_000, GROK_FAST],
      ['grok-3', 131_072, 131_072, { input: 3, cachedInput: 0.75, output: 15 }],
    ],
  },
  deepseek: {
    source: DEEPSEEK,
    models: [
      ['deepseek-v4-flash', 1_000_000, 384_000, DEEPSEEK_FLASH],
      ['deepseek-v4-pro', 1_000_000, 384_000, { input: 0.435, cachedInput: 0.003625, output: 0.87 }],
      // Older names of `deepseek-v4-flash`.
      ['deepseek-chat', 1_000_000, 384_000, DEEPSEEK_FLASH],
      ['deepseek-reasoner', 1_000_000, 384_000, DEEPSEEK_FLASH],
    ],
  },
};

const MODELS: ReadonlyMap<string, ModelInfo> = new Map(
  Object.entries(TABLE).flatMap(([provider, { source, models }]) =>
    models.map(([id, context, output, prices, overrides]): [string, ModelInfo] => [
      `${provider}/${id}`,
      { id, provider, context, output, prices, source, ...overrides },
    ]),
  ),
);

/** Providers of models without a row, by prefixes of the name. */
const PREFIXES: readonly (readonly [prefix: string, provider: string])[] = [
  ['gpt-', 'openai'],
  ['chatgpt-', 'openai'],
  ['o1', 'openai'],
  ['o3', 'openai'],
  ['o4', 'openai'],
  ['claude-', 'anthropic'],
  ['gemini-', 'google'],
  ['gemma-', 'google'],
  ['mistral-', 'mistral'],
  ['ministral-', 'mistral'],
  ['magistral-', 'mistral'],
  ['codestral-', 'mistral'],
  ['pixtral-', 'mistral'],
  ['grok-', 'xai'],
  ['deepseek-', 'deepseek'],
];

/** Dated versions without a row use the row of their model: `gpt-4o-2024-11-20`, `claude-sonnet-4-5-20250929`. */
const DATE_SUFFIX = /-(\d{4}-\d{2}-\d{2}|\d{8})$/;

/**
 * Returns the model for a name: `PROVIDER/MODEL` for a built-in provider or one of `configuredProviders`, a model of
 * the table, or a model whose name has a prefix of a provider. Undefined if there is none.
 */
export function findModel(
  name: string,
  configuredProviders: readonly string[] = [],
): ChosenModel | undefined {
  const slashIndex = name.indexOf('/');
  const provider = name.slice(0, Math.max(slashIndex, 0));
  if (PROVIDER_NAMES.includes(provider) || configuredProviders.includes(provider)) {
    const id = name.slice(slashIndex + 1);
    return id === '' ? undefined : { provider, id, info: infoOf(provider, id) };
  }
  const row = findRow(name) ?? findRow(name.replace(DATE_SUFFIX, ''));
  if (row) return { provider: row.provider, id: name, info: row };
  const [, assumedProvider] = PREFIXES.find(([prefix]) => name.startsWith(prefix)) ?? [];
  if (assumedProvider === undefined) return undefined;
  return { provider: assumedProvider, id: name, info: infoOf(assumedProvider, name) };
}

function findRow(name: string): ModelInfo | undefined {
  return [...MODELS.values()].find(({ id }) => id === name);
}

/**
 * Returns the row of the model that another provider serves under a longer name:
 * `eu.anthropic.claude-sonnet-4-5-20250929-v1:0` of Bedrock, `anthropic/claude-sonnet-4.5` of OpenRouter. The row's
 * prices are not the prices of that provider.
 */
export function findServedModel(id: string): ModelInfo | undefined {
  const name = id
    .replace(/^.*\/|^(?:[a-z-]{1,10}\.)?(?:anthropic|openai|mistral|deepseek)\./, '')
    .replace(/(?:-v\d{1,3})?(?::[a-z\d]{1,20})?$/, '')
    .replace(DATE_SUFFIX, '');
  return findRow(name) ?? findRow(name.replaceAll('.', '-'));
}

/** Returns the prices of a call with this many tokens of input. */
export function pricesFor(prices: Prices, inputTokens: number): TokenPrices {
  return prices.long && inputTokens > prices.long.above ? prices.long : prices;
}

/** Returns the models of the table. */
export function knownModels(): ModelInfo[] {
  return [...MODELS.values()];
}

function infoOf(provider: string, id: string): ModelInfo | undefined {
  return MODELS.get(`${provider}/${id}`) ?? MODELS.get(`${provider}/${id.replace(DATE_SUFFIX, '')}`);
}
