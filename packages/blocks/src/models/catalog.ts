import { PROVIDER_NAMES } from './providers.ts';

/** Dollars for a million tokens. */
export interface Prices extends TokenPrices {
  /** The prices of a call with more input than this many tokens, for all its tokens. Absent: as of every call. */
  long?: TokenPrices & { above: number };
}

/** Dollars for a million tokens of each kind. */
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

/** What is known of a model. */
export interface ModelInfo {
  id: string;
  provider: string;
  /** Largest input and output together, in tokens. */
  context: number;
  /** Largest output, in tokens, with reasoning. */
  output: number;
  prices: Prices;
  /** False: it takes no temperature. */
  temperature?: false;
  /** Its reasoning can be set. */
  reasoning?: true;
}

/** A model to call: its provider, and its name there. `info` is undefined for a model that is not in the table. */
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
  abilities?: Pick<ModelInfo, 'temperature' | 'reasoning'>,
];

const THINKS = { temperature: false, reasoning: true } as const;
const REASONS = { reasoning: true } as const;

const LONG_GEMINI_2 = { above: 200_000, input: 2.5, cachedInput: 0.25, output: 15 };
const LONG_GEMINI_3 = { above: 200_000, input: 4, cachedInput: 0.4, output: 18 };
const LONG_GROK_4 = { above: 128_000, input: 6, output: 30 };
const LONG_GROK_FAST = { above: 128_000, input: 0.4, output: 1 };
const LONG_GROK_4_5 = { above: 200_000, input: 4, cachedInput: 1, output: 12 };

/**
 * Public list prices in dollars. A model without a row runs too, without a cost.
 *
 * Checked on 25 November 2026: Anthropic against its page of prices (platform.claude.com/docs/en/about-claude/pricing); GPT-5
 * mini, GPT-5.4, Gemini 3 and Grok 4.5 against the table of GitHub's documentation (github/docs,
 * data/tables/copilot/models-and-pricing.yml); contexts and longest outputs against the providers' pages of models. The other
 * rows are those of November 2025, which providers may have changed: `prices` and `--price` replace them.
 */
const TABLE: { readonly [provider: string]: readonly Row[] } = {
  openai: [
    [
      'gpt-5.4',
      1_050_000,
      128_000,
      {
        ...{ input: 2.5, cachedInput: 0.25, output: 15 },
        long: { above: 272_000, input: 5, cachedInput: 0.5, output: 22.5 },
      },
      THINKS,
    ],
    ['gpt-5.2', 400_000, 128_000, { input: 1.75, cachedInput: 0.175, output: 14 }, THINKS],
    ['gpt-5.1', 400_000, 128_000, { input: 1.25, cachedInput: 0.125, output: 10 }, THINKS],
    ['gpt-5', 400_000, 128_000, { input: 1.25, cachedInput: 0.125, output: 10 }, THINKS],
    ['gpt-5-mini', 400_000, 128_000, { input: 0.25, cachedInput: 0.025, output: 2 }, THINKS],
    ['gpt-5-nano', 400_000, 128_000, { input: 0.05, cachedInput: 0.005, output: 0.4 }, THINKS],
    ['gpt-4.1', 1_047_576, 32_768, { input: 2, cachedInput: 0.5, output: 8 }],
    ['gpt-4.1-mini', 1_047_576, 32_768, { input: 0.4, cachedInput: 0.1, output: 1.6 }],
    ['gpt-4.1-nano', 1_047_576, 32_768, { input: 0.1, cachedInput: 0.025, output: 0.4 }],
    ['gpt-4o', 128_000, 16_384, { input: 2.5, cachedInput: 1.25, output: 10 }],
    ['gpt-4o-mini', 128_000, 16_384, { input: 0.15, cachedInput: 0.075, output: 0.6 }],
    ['o3', 200_000, 100_000, { input: 2, cachedInput: 0.5, output: 8 }, THINKS],
    ['o3-mini', 200_000, 100_000, { input: 1.1, cachedInput: 0.55, output: 4.4 }, THINKS],
    ['o4-mini', 200_000, 100_000, { input: 1.1, cachedInput: 0.275, output: 4.4 }, THINKS],
  ],
  anthropic: [
    [
      'claude-opus-4-5',
      200_000,
      64_000,
      { input: 5, cachedInput: 0.5, cacheWrite: 6.25, output: 25 },
      REASONS,
    ],
    [
      'claude-opus-4-1',
      200_000,
      32_000,
      { input: 15, cachedInput: 1.5, cacheWrite: 18.75, output: 75 },
      REASONS,
    ],
    [
      'claude-sonnet-4-5',
      200_000,
      64_000,
      { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 },
      REASONS,
    ],
    [
      'claude-sonnet-4-0',
      200_000,
      64_000,
      { input: 3, cachedInput: 0.3, cacheWrite: 3.75, output: 15 },
      REASONS,
    ],
    [
      'claude-haiku-4-5',
      200_000,
      64_000,
      { input: 1, cachedInput: 0.1, cacheWrite: 1.25, output: 5 },
      REASONS,
    ],
    ['claude-3-5-haiku-latest', 200_000, 8_192, { input: 0.8, cachedInput: 0.08, cacheWrite: 1, output: 4 }],
  ],
  google: [
    [
      'gemini-3-pro-preview',
      1_048_576,
      65_536,
      { input: 2, cachedInput: 0.2, output: 12, long: LONG_GEMINI_3 },
      REASONS,
    ],
    [
      'gemini-2.5-pro',
      1_048_576,
      65_536,
      { input: 1.25, cachedInput: 0.125, output: 10, long: LONG_GEMINI_2 },
      REASONS,
    ],
    ['gemini-2.5-flash', 1_048_576, 65_536, { input: 0.3, cachedInput: 0.03, output: 2.5 }, REASONS],
    ['gemini-2.5-flash-lite', 1_048_576, 65_536, { input: 0.1, cachedInput: 0.01, output: 0.4 }, REASONS],
    ['gemini-2.0-flash', 1_048_576, 8_192, { input: 0.1, cachedInput: 0.025, output: 0.4 }],
  ],
  mistral: [
    ['mistral-large-latest', 256_000, 256_000, { input: 0.5, output: 1.5 }],
    ['mistral-medium-latest', 131_072, 131_072, { input: 0.4, output: 2 }],
    ['mistral-small-latest', 131_072, 131_072, { input: 0.1, output: 0.3 }],
  ],
  groq: [
    ['llama-3.3-70b-versatile', 131_072, 32_768, { input: 0.59, output: 0.79 }],
    ['llama-3.1-8b-instant', 131_072, 131_072, { input: 0.05, output: 0.08 }],
    ['openai/gpt-oss-120b', 131_072, 65_536, { input: 0.15, output: 0.6 }, REASONS],
  ],
  xai: [
    ['grok-4.5', 500_000, 500_000, { input: 2, cachedInput: 0.5, output: 6, long: LONG_GROK_4_5 }],
    ['grok-4', 256_000, 256_000, { input: 3, cachedInput: 0.75, output: 15, long: LONG_GROK_4 }],
    [
      'grok-4-fast-reasoning',
      2_000_000,
      2_000_000,
      { input: 0.2, cachedInput: 0.05, output: 0.5, long: LONG_GROK_FAST },
    ],
    ['grok-3', 131_072, 131_072, { input: 3, cachedInput: 0.75, output: 15 }],
  ],
  deepseek: [
    ['deepseek-chat', 131_072, 8_192, { input: 0.28, cachedInput: 0.028, output: 0.42 }],
    ['deepseek-reasoner', 131_072, 65_536, { input: 0.28, cachedInput: 0.028, output: 0.42 }],
  ],
};

const MODELS: ReadonlyMap<string, ModelInfo> = new Map(
  Object.entries(TABLE).flatMap(([provider, rows]) =>
    rows.map(([id, context, output, prices, abilities]): [string, ModelInfo] => [
      `${provider}/${id}`,
      { id, provider, context, output, prices, ...abilities },
    ]),
  ),
);

/** Providers of models without a row, by the beginning of the name. */
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

/** Dated versions have the row of their model: `gpt-4o-2024-11-20`, `claude-sonnet-4-5-20250929`. */
const DATE = /-(\d{4}-\d{2}-\d{2}|\d{8})$/;

/**
 * Returns the model that a name means: `PROVIDER/MODEL` for a known provider or one of `configured`, a model of the table,
 * or a model whose name begins like those of a provider. Undefined: none.
 */
export function modelNamed(name: string, configured: readonly string[] = []): ChosenModel | undefined {
  const slash = name.indexOf('/');
  const provider = name.slice(0, Math.max(slash, 0));
  if (PROVIDER_NAMES.includes(provider) || configured.includes(provider)) {
    const id = name.slice(slash + 1);
    return id === '' ? undefined : { provider, id, info: infoOf(provider, id) };
  }
  const row = [...MODELS.values()].find(({ id }) => id === name || id === name.replace(DATE, ''));
  if (row) return { provider: row.provider, id: name, info: row };
  const [, guessed] = PREFIXES.find(([prefix]) => name.startsWith(prefix)) ?? [];
  return guessed === undefined ? undefined : { provider: guessed, id: name, info: infoOf(guessed, name) };
}

/** Returns the prices of a call with this many tokens of input. */
export function pricesFor(prices: Prices, input: number): TokenPrices {
  return prices.long && input > prices.long.above ? prices.long : prices;
}

/** Returns the models of the table. */
export function knownModels(): ModelInfo[] {
  return [...MODELS.values()];
}

function infoOf(provider: string, id: string): ModelInfo | undefined {
  return MODELS.get(`${provider}/${id}`) ?? MODELS.get(`${provider}/${id.replace(DATE, '')}`);
}
