/** A built-in provider of models that needs a key. */
export interface KnownProvider {
  /** The PROVIDER of PROVIDER/MODEL. */
  id: string;
  name: string;
  /** The page on which the provider issues keys. */
  keyUrl: string;
}

const KEY_PAGES: { readonly [id: string]: readonly [name: string, keyUrl: string] } = {
  openai: ['OpenAI', 'https://platform.openai.com/api-keys'],
  anthropic: ['Anthropic', 'https://console.anthropic.com/settings/keys'],
  google: ['Google Gemini', 'https://aistudio.google.com/apikey'],
  mistral: ['Mistral AI', 'https://console.mistral.ai/api-keys'],
  groq: ['Groq', 'https://console.groq.com/keys'],
  azure: ['Azure OpenAI', 'https://portal.azure.com'],
  bedrock: ['Amazon Bedrock', 'https://console.aws.amazon.com/bedrock'],
  openrouter: ['OpenRouter', 'https://openrouter.ai/keys'],
  xai: ['xAI', 'https://console.x.ai'],
  deepseek: ['DeepSeek', 'https://platform.deepseek.com/api_keys'],
  cerebras: ['Cerebras', 'https://cloud.cerebras.ai'],
  fireworks: ['Fireworks AI', 'https://fireworks.ai/account/api-keys'],
  together: ['Together AI', 'https://api.together.ai/settings/api-keys'],
};

/** Returns the built-in providers of models that need a key. */
export function knownProviders(): KnownProvider[] {
  return Object.entries(KEY_PAGES).map(([id, [name, keyUrl]]) => ({ id, name, keyUrl }));
}
