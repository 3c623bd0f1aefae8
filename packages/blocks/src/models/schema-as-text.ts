import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';

/** Providers that refuse a call with a JSON Schema: DeepSeek any call, Groq a stream and a call with tools. */
const REFUSING: ReadonlySet<string> = new Set(['deepseek', 'groq']);

type Asked = Pick<LanguageModelV4CallOptions, 'prompt' | 'responseFormat'>;

/**
 * Returns the call with the schema of its answer as an instruction, if the provider refuses schemas. Such a provider
 * guarantees nothing; the caller checks the answer in any case.
 */
export function schemaAsText<T extends Asked>(provider: string, asked: T): T {
  const { responseFormat, prompt } = asked;
  if (responseFormat?.type !== 'json' || !responseFormat.schema || !REFUSING.has(provider)) return asked;
  const demand = `Give your answer as JSON that matches this schema, and nothing else: ${JSON.stringify(responseFormat.schema)}`;
  const [first, ...others] = prompt;
  const text = first?.role === 'system' ? `${first.content}\n\n${demand}` : demand;
  const system = { ...(first?.role === 'system' && first), role: 'system' as const, content: text };
  return {
    ...asked,
    responseFormat: { type: 'text' },
    prompt: [system, ...(first?.role === 'system' ? others : prompt)],
  };
}
