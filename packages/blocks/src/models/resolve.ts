import type { LanguageModelV4 } from '@ai-sdk/provider';
import { BlockError, isBlockError } from '@heddle/core/blocks';
import type { ConfiguredService } from '@heddle/engine';
import type { Context } from '../define.ts';
import { rateLimitKeyOf } from '../rate-limit-key.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import type { BlocksOptions, ModelRateLimits } from '../options.ts';
import { findModel } from './catalog.ts';
import type { ModelInfo, Prices } from './catalog.ts';
import { toFetch } from './http.ts';
import { PROVIDER_NAMES, getProvider } from './providers.ts';
import { streamingFetch } from './streaming-fetch.ts';

/** Maximum number of fallback models of a block. */
const MAX_FALLBACKS = 5;

/** The model of a block, with its key, prices and rate limit. */
export interface ResolvedModel {
  /** Requests streams. A call throws a NonStreamingResponseError if the server sends no stream. */
  model: LanguageModelV4;
  /** The `fetch` for the provider, which applies the egress policy. */
  send: typeof fetch;
  /** Returns the model with another `fetch`. */
  createModel(send: typeof fetch): Promise<LanguageModelV4>;
  provider: string;
  /** Undefined: the model is not in the catalog. */
  info: ModelInfo | undefined;
  /** Undefined: unknown. */
  prices: Prices | undefined;
  /** The key that the provider gets. */
  secret: string | undefined;
  rateLimits: ModelRateLimits;
  /** Identifies the rate limit of the call: a hash of the key and the base URL. */
  rateLimitKey: string;
}

/**
 * Resolves the model that the block names in `model`, or the default model, and its fallback models: the block's
 * `fallbackModels`, or the operator's fallback models that have a key. The key of a model is, by priority, the
 * operator's credential, the block's `apiKey`, the tenant's stored key, or the provider's environment variable. A base
 * URL in the block gets only the block's key, and the block's key is used only for the provider of its first model.
 *
 * Throws MODEL_UNKNOWN, MODEL_KEY_MISSING, MODEL_ADDRESS_MISSING, CREDENTIAL_UNAVAILABLE, BLOCK_CONFIG_INVALID.
 */
export async function resolveModels(context: Context, options: BlocksOptions): Promise<ResolvedModels> {
  const name = fieldText(context, 'model') || options.defaultModel || '';
  if (name === '')
    throw configError('MODEL_UNKNOWN', context, 'has no model. Choose one, or set a default model.');
  const first = await resolveModel({ context, options, mainProvider: undefined }, name);
  const blockFallbacks = fallbacksOf(context);
  const fallbacks: ResolvedModel[] = [];
  for (const fallback of new Set(blockFallbacks ?? options.fallbackModels ?? [])) {
    if (fallback === name) continue;
    const fallbackModel = await resolveModel(
      { context, options, mainProvider: first.provider },
      fallback,
    ).catch((error: unknown) => {
      if (blockFallbacks === undefined && isBlockError(error) && error.code === 'MODEL_KEY_MISSING')
        return undefined;
      throw error;
    });
    if (fallbackModel) fallbacks.push(fallbackModel);
  }
  return [first, ...fallbacks];
}

/** The model of a block and its fallback models, in order. */
export type ResolvedModels = readonly [ResolvedModel, ...ResolvedModel[]];

/** Returns the names of the fallback models that the block lists; undefined if the field is empty. */
function fallbacksOf(context: Context): string[] | undefined {
  const field = context.field('fallbackModels', 'json') ?? null;
  if (field === null || field === '') return undefined;
  const names = Array.isArray(field) ? field : typeof field === 'string' ? field.split(',') : [field];
  const trimmedNames = names.map((name) => (typeof name === 'string' ? name.trim() : ''));
  if (trimmedNames.includes(''))
    throw invalidConfigError(
      context,
      'has an invalid "fallbackModels": it must be a list of names of models',
    );
  if (trimmedNames.length > MAX_FALLBACKS)
    throw invalidConfigError(context, `has more than ${MAX_FALLBACKS} models in "fallbackModels"`);
  return trimmedNames;
}

interface ResolveOptions {
  context: Context;
  options: BlocksOptions;
  /** The provider of the block's first model. Undefined: this is the first model. */
  mainProvider: string | undefined;
}

async function resolveModel(
  { context, options, mainProvider }: ResolveOptions,
  name: string,
): Promise<ResolvedModel> {
  const { provider, id, info } = await modelFor(context, name);
  const service = await context.services.service(provider);
  const { baseUrl, isSetByBlock } = baseUrlFor(context, provider, service);
  const isMainProvider = mainProvider === undefined || mainProvider === provider;
  const aws = provider === 'bedrock' ? awsCredentials(context) : undefined;
  const operatorConfig = isSetByBlock ? undefined : { service, options };
  const key = aws ? undefined : await keyFor({ context, provider, isMainProvider }, operatorConfig);
  const apiVersion = fieldText(context, 'azureApiVersion') || undefined;
  const send = toFetch(service.http);
  const createModel = (fetch: typeof send): Promise<LanguageModelV4> =>
    getProvider(provider).createModel({ baseUrl, key, fetch, apiVersion, aws }, id);
  const model = await createModel(streamingFetch(send));
  const secret = key ?? aws?.secretAccessKey;
  const prices = configuredPrices(options, provider, id) ?? info?.prices;
  const rateLimits = configuredValue(options.rateLimits, provider) ?? {};
  return {
    model,
    send,
    createModel,
    provider,
    info,
    prices,
    secret,
    rateLimits,
    rateLimitKey: rateLimitKeyOf(secret, provider, baseUrl),
  };
}

function configuredPrices({ prices }: BlocksOptions, provider: string, id: string): Prices | undefined {
  return configuredValue(prices, `${provider}/${id}`) ?? configuredValue(prices, `${provider}/*`);
}

function configuredValue<T>(values: { readonly [name: string]: T } | undefined, name: string): T | undefined {
  return values && Object.hasOwn(values, name) ? values[name] : undefined;
}

/** Returns the base URL of the provider: the operator's, the block's, or the default. */
function baseUrlFor(
  context: Context,
  provider: string,
  service: ConfiguredService,
): { baseUrl: string; isSetByBlock: boolean } {
  const blockUrl = service.baseUrl === undefined ? blockBaseUrl(context, provider) : undefined;
  const baseUrl = service.baseUrl ?? blockUrl ?? getProvider(provider).baseUrl;
  // A block of Bedrock sets only the region: the host belongs to AWS, whatever the author writes.
  if (baseUrl !== undefined)
    return {
      baseUrl: baseUrl.replace(/\/+$/, ''),
      isSetByBlock: blockUrl !== undefined && provider !== 'bedrock',
    };
  const reason = `uses ${provider}, whose base URL is unknown. Set it with --service ${provider}=URL.`;
  throw configError('MODEL_ADDRESS_MISSING', context, reason);
}

/**
 * Returns the key for a provider; undefined if it needs none. Without `operatorConfig`, only the key of the block: the
 * author of a workflow could otherwise send the key of the operator or of the workspace to their own server.
 */
async function keyFor(
  { context, provider, isMainProvider }: { context: Context; provider: string; isMainProvider: boolean },
  operatorConfig: { service: ConfiguredService; options: BlocksOptions } | undefined,
): Promise<string | undefined> {
  const { keyVariables } = getProvider(provider);
  const key =
    operatorConfig?.service.credential ??
    (isMainProvider ? blockKey(context, provider) : undefined) ??
    (operatorConfig &&
      ((await storedKey(context, provider)) ?? keyFromEnvironment(keyVariables, operatorConfig.options)));
  const [variable] = keyVariables;
  if (key !== undefined || variable === undefined) return key;
  const advice = operatorConfig
    ? `Set its API key, store one with heddle credentials add NAME --provider ${provider}, or set ${variable} or --credential ${provider}=KEY.`
    : 'Set its API key: a base URL that a block sets gets only the key of the block.';
  throw configError('MODEL_KEY_MISSING', context, `has no key for ${provider}. ${advice}`);
}

/**
 * Returns the model with this name. A model of a provider that the operator has configured need not be in the
 * catalog.
 */
async function modelFor(context: Context, name: string) {
  const [prefix = ''] = name.split('/');
  const isConfigured = name.includes('/') && (await context.services.service(prefix)).baseUrl !== undefined;
  const found = findModel(name, isConfigured ? [prefix] : []);
  if (found) return found;
  const reason = `uses the model "${name}", which belongs to no known provider. Write PROVIDER/MODEL (providers: ${PROVIDER_NAMES.join(', ')}), or configure the provider with --service NAME=URL.`;
  throw configError('MODEL_UNKNOWN', context, reason);
}

function blockKey(context: Context, provider: string): string | undefined {
  const fields = provider === 'bedrock' ? ['bedrockApiKey', 'apiKey'] : ['apiKey'];
  return fields.map((field) => fieldText(context, field)).find((key) => key !== '');
}

/** Returns the key that the tenant has stored for the provider. */
async function storedKey({ services }: Context, provider: string): Promise<string | undefined> {
  return (await services.credential({ provider, type: 'api_key' }))?.secret;
}

function blockBaseUrl(context: Context, provider: string): string | undefined {
  if (provider === 'azure') return fieldText(context, 'azureEndpoint') || undefined;
  if (provider !== 'bedrock') return undefined;
  const region = fieldText(context, 'bedrockRegion');
  if (region === '') return undefined;
  if (/^[a-z0-9-]{1,40}$/.test(region)) return `https://bedrock-runtime.${region}.amazonaws.com`;
  throw configError(
    'MODEL_ADDRESS_MISSING',
    context,
    'has an invalid AWS region: write one such as us-east-1.',
  );
}

function awsCredentials(
  context: Context,
): { region: string; accessKeyId: string; secretAccessKey: string } | undefined {
  const accessKeyId = fieldText(context, 'bedrockAccessKeyId');
  const secretAccessKey = fieldText(context, 'bedrockSecretKey');
  if (accessKeyId === '' || secretAccessKey === '') return undefined;
  return { region: fieldText(context, 'bedrockRegion'), accessKeyId, secretAccessKey };
}

function keyFromEnvironment(names: readonly string[], { variables = {} }: BlocksOptions): string | undefined {
  return names.map((name) => variables[name]).find((value) => value !== undefined && value !== '');
}

/** Returns the trimmed text of a field; empty for any other value. */
function fieldText(context: Context, field: string): string {
  const value = context.field(field);
  return typeof value === 'string' ? value.trim() : '';
}

function configError(code: string, { block }: Context, reason: string): BlockError {
  return new BlockError(code, `The block "${block.name}" ${reason}`, { retryable: false });
}
