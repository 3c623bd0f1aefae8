import type { LanguageModelV4 } from '@ai-sdk/provider';

/**
 * The settings of a provider. They are passed to its SDK even if they are empty: the SDK reads missing settings from
 * environment variables.
 */
export interface ProviderSettings {
  /** The base URL, without the path of an operation. */
  baseUrl: string;
  /** Undefined: the provider needs none. */
  key: string | undefined;
  fetch: typeof fetch;
  /** Version of the API (Azure). */
  apiVersion?: string | undefined;
  /** Region and key pair (Amazon Bedrock). */
  aws?: { region: string; accessKeyId: string; secretAccessKey: string } | undefined;
}

/** A provider of models. */
export interface Provider {
  /** The base URL. Undefined: a block or the operator sets it. */
  baseUrl: string | undefined;
  /** The environment variables that usually contain its key, by priority. Empty: it needs no key. */
  keyVariables: readonly string[];
  /** Loads the provider's SDK and returns a model. */
  createModel(settings: ProviderSettings, model: string): Promise<LanguageModelV4>;
}

/** Returns a provider with the API of OpenAI's chat completions. */
function openAiCompatibleProvider(
  name: string,
  baseUrl: string | undefined,
  ...keyVariables: string[]
): Provider {
  return {
    baseUrl,
    keyVariables,
    async createModel({ baseUrl: baseURL, key, fetch }, model) {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
      const options = { supportsStructuredOutputs: true, includeUsage: true };
      return createOpenAICompatible({ name, baseURL, fetch, ...(key && { apiKey: key }), ...options })(model);
    },
  };
}

type SdkFactory = (options: {
  baseURL: string;
  apiKey: string;
  fetch: typeof fetch;
}) => (model: string) => LanguageModelV4;

/** Returns a provider that has its own SDK package and is called with a key. */
function sdkProvider(baseUrl: string, load: () => Promise<SdkFactory>, ...keyVariables: string[]): Provider {
  return {
    baseUrl,
    keyVariables,
    async createModel({ baseUrl: baseURL, key = '', fetch }, model) {
      const create = await load();
      return create({ baseURL, apiKey: key, fetch })(model);
    },
  };
}

const PROVIDERS: { readonly [name: string]: Provider } = {
  openai: sdkProvider(
    'https://api.openai.com/v1',
    async () => (await import('@ai-sdk/openai')).createOpenAI,
    'OPENAI_API_KEY',
  ),
  anthropic: sdkProvider(
    'https://api.anthropic.com/v1',
    async () => (await import('@ai-sdk/anthropic')).createAnthropic,
    'ANTHROPIC_API_KEY',
  ),
  google: sdkProvider(
    'https://generativelanguage.googleapis.com/v1beta',
    async () => (await import('@ai-sdk/google')).createGoogle,
    'GOOGLE_GENERATIVE_AI_API_KEY',
    'GEMINI_API_KEY',
  ),
  mistral: sdkProvider(
    'https://api.mistral.ai/v1',
    async () => (await import('@ai-sdk/mistral')).createMistral,
    'MISTRAL_API_KEY',
  ),
  groq: sdkProvider(
    'https://api.groq.com/openai/v1',
    async () => (await import('@ai-sdk/groq')).createGroq,
    'GROQ_API_KEY',
  ),
  azure: {
    baseUrl: undefined,
    keyVariables: ['AZURE_OPENAI_API_KEY', 'AZURE_API_KEY'],
    async createModel({ baseUrl, key: apiKey = '', fetch, apiVersion = '' }, model) {
      const { createAzure } = await import('@ai-sdk/azure');
      // A URL without a path is the endpoint of an Azure resource.
      const base = new URL(baseUrl).pathname === '/' ? `${baseUrl}/openai` : baseUrl;
      // Dated API versions exist only under the paths of deployments, and the API without a version only under v1.
      if (/^\d/.test(apiVersion)) {
        const baseURL = base.replace(/\/v1$/, '');
        return createAzure({ baseURL, apiKey, fetch, apiVersion, useDeploymentBasedUrls: true }).chat(model);
      }
      const baseURL = base.endsWith('/openai') ? `${base}/v1` : base;
      return createAzure({ baseURL, apiKey, fetch })(model);
    },
  },
  bedrock: {
    baseUrl: undefined,
    keyVariables: ['AWS_BEARER_TOKEN_BEDROCK'],
    async createModel({ baseUrl: baseURL, key, fetch, aws }, model) {
      const { createAmazonBedrock } = await import('@ai-sdk/amazon-bedrock');
      const { region = '', accessKeyId = '', secretAccessKey = '' } = aws ?? {};
      const credentials = { region, accessKeyId, secretAccessKey };
      return createAmazonBedrock({
        baseURL,
        fetch,
        region,
        // Passed explicitly, so that the SDK reads no key or key pair from the environment of the process.
        ...(key === undefined
          ? { apiKey: '', credentialProvider: async () => credentials }
          : { apiKey: key }),
      })(model);
    },
  },
  openrouter: openAiCompatibleProvider('openrouter', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
  xai: openAiCompatibleProvider('xai', 'https://api.x.ai/v1', 'XAI_API_KEY'),
  deepseek: openAiCompatibleProvider('deepseek', 'https://api.deepseek.com/v1', 'DEEPSEEK_API_KEY'),
  cerebras: openAiCompatibleProvider('cerebras', 'https://api.cerebras.ai/v1', 'CEREBRAS_API_KEY'),
  fireworks: openAiCompatibleProvider(
    'fireworks',
    'https://api.fireworks.ai/inference/v1',
    'FIREWORKS_API_KEY',
  ),
  together: openAiCompatibleProvider('together', 'https://api.together.xyz/v1', 'TOGETHER_API_KEY'),
  ollama: openAiCompatibleProvider('ollama', 'http://localhost:11434/v1'),
  vllm: openAiCompatibleProvider('vllm', undefined),
};

/** Names of the built-in providers. */
export const PROVIDER_NAMES: readonly string[] = Object.keys(PROVIDERS);

/** Returns a built-in provider; for any other name, an OpenAI-compatible provider whose base URL the operator sets. */
export function getProvider(name: string): Provider {
  return (Object.hasOwn(PROVIDERS, name) && PROVIDERS[name]) || openAiCompatibleProvider(name, undefined);
}
