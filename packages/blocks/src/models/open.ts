import type { LanguageModelV4 } from '@ai-sdk/provider';
import { BlockError } from '@heddle/core/blocks';
import type { ConfiguredService } from '@heddle/engine';
import type { Context } from '../define.ts';
import type { BlocksOptions } from '../options.ts';
import { modelNamed } from './catalog.ts';
import type { ModelInfo } from './catalog.ts';
import { fetchOver } from './http.ts';
import { PROVIDER_NAMES, providerNamed } from './providers.ts';

/** A model that is ready to be called. */
export interface OpenModel {
  model: LanguageModelV4;
  provider: string;
  /** Undefined: the model is not in the table. */
  info: ModelInfo | undefined;
  /** The key that the provider gets. */
  secret: string | undefined;
}

/**
 * Opens the model that the block names in `model`, or the default one. Its key is, by priority, the operator's credential,
 * the block's `apiKey`, the tenant's stored key, or the provider's usual variable. An address that the block gives only gets
 * the block's key.
 *
 * Throws MODEL_UNKNOWN, MODEL_KEY_MISSING, MODEL_ADDRESS_MISSING, CREDENTIAL_UNAVAILABLE.
 */
export async function openModel(context: Context, options: BlocksOptions): Promise<OpenModel> {
  const name = text(context, 'model') || options.defaultModel || '';
  if (name === '')
    throw refuse('MODEL_UNKNOWN', context, 'has no model. Choose one, or set a default model.');
  const { provider, id, info } = await chosen(context, name);
  const service = await context.services.service(provider);
  const { address, isAuthored } = addressFor(context, provider, service);
  const aws = provider === 'bedrock' ? awsOf(context) : undefined;
  const key = aws
    ? undefined
    : await keyFor(context, provider, isAuthored ? undefined : { service, options });
  const apiVersion = text(context, 'azureApiVersion') || undefined;
  const settings = { address, key, fetch: fetchOver(service.http), apiVersion, aws };
  const model = await providerNamed(provider).open(settings, id);
  return { model, provider, info, secret: key ?? aws?.secretAccessKey };
}

/** Returns the address of the provider: the operator's, the block's, or its own. */
function addressFor(
  context: Context,
  provider: string,
  service: ConfiguredService,
): { address: string; isAuthored: boolean } {
  const authored = service.address === undefined ? addressOf(context, provider) : undefined;
  const address = service.address ?? authored ?? providerNamed(provider).address;
  // The host of a region is a host of AWS, whatever the author writes.
  if (address !== undefined)
    return {
      address: address.replace(/\/+$/, ''),
      isAuthored: authored !== undefined && provider !== 'bedrock',
    };
  const why = `uses ${provider}, whose address is unknown. Give it with --service ${provider}=URL.`;
  throw refuse('MODEL_ADDRESS_MISSING', context, why);
}

/**
 * Returns the key for a provider; undefined if it needs none. Without `operator`, only the key of the block: the author of a
 * workflow could otherwise send the key of the operator or of the workspace to their own address.
 */
async function keyFor(
  context: Context,
  provider: string,
  operator: { service: ConfiguredService; options: BlocksOptions } | undefined,
): Promise<string | undefined> {
  const { variables } = providerNamed(provider);
  const key =
    operator?.service.credential ??
    ownKey(context, provider) ??
    (operator && ((await storedKey(context, provider)) ?? variableOf(variables, operator.options)));
  const [variable] = variables;
  if (key !== undefined || variable === undefined) return key;
  const where = operator
    ? `Set its API key, store one with heddle credentials add NAME --provider ${provider}, or set ${variable} or --credential ${provider}=KEY.`
    : 'Set its API key: at an address that a block gives, only the key of the block is used.';
  throw refuse('MODEL_KEY_MISSING', context, `has no key for ${provider}. ${where}`);
}

/** Returns the model with this name. A provider that the operator has configured needs no row in the table. */
async function chosen(context: Context, name: string) {
  const [prefix = ''] = name.split('/');
  const isConfigured = name.includes('/') && (await context.services.service(prefix)).address !== undefined;
  const found = modelNamed(name, isConfigured ? [prefix] : []);
  if (found) return found;
  const why = `uses the model "${name}", which belongs to no known provider. Write PROVIDER/MODEL (providers: ${PROVIDER_NAMES.join(', ')}), or configure the provider with --service NAME=URL.`;
  throw refuse('MODEL_UNKNOWN', context, why);
}

function ownKey(context: Context, provider: string): string | undefined {
  const fields = provider === 'bedrock' ? ['bedrockApiKey', 'apiKey'] : ['apiKey'];
  return fields.map((field) => text(context, field)).find((key) => key !== '');
}

/** Returns the key that the tenant has stored for the provider. */
async function storedKey({ services }: Context, provider: string): Promise<string | undefined> {
  return (await services.credential({ provider, type: 'api_key' }))?.secret;
}

function addressOf(context: Context, provider: string): string | undefined {
  if (provider === 'azure') return text(context, 'azureEndpoint') || undefined;
  if (provider !== 'bedrock') return undefined;
  const region = text(context, 'bedrockRegion');
  if (region === '') return undefined;
  if (/^[a-z0-9-]{1,40}$/.test(region)) return `https://bedrock-runtime.${region}.amazonaws.com`;
  throw refuse('MODEL_ADDRESS_MISSING', context, 'has a region of AWS that is not one, such as us-east-1.');
}

function awsOf(
  context: Context,
): { region: string; accessKeyId: string; secretAccessKey: string } | undefined {
  const accessKeyId = text(context, 'bedrockAccessKeyId');
  const secretAccessKey = text(context, 'bedrockSecretKey');
  if (accessKeyId === '' || secretAccessKey === '') return undefined;
  return { region: text(context, 'bedrockRegion'), accessKeyId, secretAccessKey };
}

function variableOf(names: readonly string[], { variables = {} }: BlocksOptions): string | undefined {
  return names.map((name) => variables[name]).find((value) => value !== undefined && value !== '');
}

function text(context: Context, field: string): string {
  const value = context.field(field);
  return typeof value === 'string' ? value.trim() : '';
}

function refuse(code: string, { block }: Context, why: string): BlockError {
  return new BlockError(code, `The block "${block.name}" ${why}`, { retryable: false });
}
