import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';

/** Providers that refuse a JSON Schema: DeepSeek in every call, Groq in streamed calls and in calls with tools. */
const REFUSING: ReadonlySet<string> = new Set(['deepseek', 'groq']);

type Asked = Pick<LanguageModelV4CallOptions, 'prompt' | 'responseFormat'>;

/**
 * Returns the call with its response schema as an instruction if the provider refuses schemas. The provider does not enforce
 * an instruction; the caller checks each answer.
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
