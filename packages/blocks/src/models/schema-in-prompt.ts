import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';

/** Providers that refuse a JSON Schema: DeepSeek in every call, Groq in streamed calls and in calls with tools. */
const PROVIDERS_WITHOUT_SCHEMAS: ReadonlySet<string> = new Set(['deepseek', 'groq']);

type CallOptions = Pick<LanguageModelV4CallOptions, 'prompt' | 'responseFormat'>;

/** Returns the instruction to answer with JSON that matches the schema. */
export function schemaInstruction(schema: object): string {
  return `Give your answer as JSON that matches this schema, and nothing else: ${JSON.stringify(schema)}`;
}

/**
 * Returns the call with its response schema as an instruction if the provider refuses schemas. The provider does not
 * enforce an instruction; the caller checks each answer.
 */
export function withSchemaInPrompt<T extends CallOptions>(provider: string, options: T): T {
  const { responseFormat, prompt } = options;
  if (responseFormat?.type !== 'json' || !responseFormat.schema || !PROVIDERS_WITHOUT_SCHEMAS.has(provider))
    return options;
  const instruction = schemaInstruction(responseFormat.schema);
  const [first, ...others] = prompt;
  if (first?.role !== 'system')
    return {
      ...options,
      responseFormat: { type: 'text' },
      prompt: [{ role: 'system', content: instruction }, ...prompt],
    };
  // The prompts of some blocks contain it already.
  const content = first.content.includes(instruction) ? first.content : `${first.content}\n\n${instruction}`;
  return { ...options, responseFormat: { type: 'text' }, prompt: [{ ...first, content }, ...others] };
}
