import type { Json, JsonObject } from '@heddle/core';

/** The API of a request. */
export type ProviderApi = 'openai' | 'compatible' | 'anthropic' | 'google' | 'bedrock';

/** A response of the model. */
export interface ModelResponse {
  text?: string;
  /** The text in several chunks. Default: `text` in one chunk. */
  chunks?: readonly string[];
  /** Precedes the text. */
  reasoning?: string;
  /** Tool calls. `id` is the id of the call, which only the API of OpenAI's chat completions uses. */
  toolCalls?: readonly { name: string; args: Json | string; id?: string }[];
  /** Numbers of tokens. `inputTokens` includes `cachedTokens`, and `outputTokens` includes `reasoningTokens`. */
  inputTokens?: number;
  outputTokens?: number;
  cachedTokens?: number;
  /** Tokens of the output that were reasoning. */
  reasoningTokens?: number;
  /** True if the response is not streamed but one JSON body, even if the request asks for a stream. */
  isNonStreaming?: true;
  /** A body that is sent instead of the response body of the API. */
  body?: string;
  /** The content type of the HTTP response. Default: that of the API. */
  type?: string;
  /** The status of an error that is sent instead of a response. The error has the text `message`. */
  status?: number;
  message?: string;
  headers?: { [name: string]: string };
  /** The response stops after the text, or after half of the body, and the connection stays open. */
  stalls?: true;
  /** The stream ends after the text, without its last events. */
  endsEarly?: true;
  /** The connection breaks after the text, or after half of the body. */
  disconnects?: true;
  /** The response is sent after this resolves. */
  sendAfter?: Promise<unknown>;
}

/** Returns the chunks of the text. */
export function chunksOf({ chunks, text }: ModelResponse): readonly string[] {
  return chunks ?? (text === undefined ? [] : [text]);
}

/** Returns the arguments of a call as the text of a model. */
export function formatArguments(args: Json | string): string {
  return typeof args === 'string' ? args : JSON.stringify(args);
}

/** Returns the response body of the API for a response that is not streamed. */
export function createNonStreamingResponse(
  providerApi: ProviderApi,
  modelResponse: ModelResponse,
): JsonObject {
  return BODY_BUILDERS[providerApi](modelResponse, chunksOf(modelResponse).join(''));
}

const BODY_BUILDERS: Record<ProviderApi, (modelResponse: ModelResponse, text: string) => JsonObject> = {
  openai: (
    { reasoning, toolCalls = [], inputTokens = 10, outputTokens = 5, cachedTokens = 0, reasoningTokens = 0 },
    text,
  ) => ({
    ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'scripted', status: 'completed' },
    ...{ error: null, incomplete_details: null },
    output: [
      ...optionalPart(reasoning, (summary) => ({
        ...{ type: 'reasoning', id: 'rs_1', encrypted_content: 'signed' },
        summary: [{ type: 'summary_text', text: summary }],
      })),
      ...optionalPart(text, () => ({
        ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' },
        content: [{ type: 'output_text', text, annotations: [] }],
      })),
      ...toolCalls.map(({ name, args }, index) => ({
        ...{ type: 'function_call', id: `fc_${index}`, call_id: `call_${index}`, name },
        ...{ arguments: formatArguments(args), status: 'completed' },
      })),
    ],
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
    },
  }),
  compatible: (
    { reasoning, toolCalls = [], inputTokens = 10, outputTokens = 5, cachedTokens = 0, reasoningTokens = 0 },
    text,
  ) => ({
    ...{ id: 'answer_1', object: 'chat.completion', created: 1, model: 'scripted' },
    choices: [
      {
        index: 0,
        finish_reason: toolCalls.length > 0 ? 'tool_calls' : 'stop',
        message: {
          role: 'assistant',
          content: text === '' ? null : text,
          ...(reasoning !== undefined && { reasoning_content: reasoning }),
          ...(toolCalls.length > 0 && {
            tool_calls: toolCalls.map(({ name, args, id }, index) => ({
              id: id ?? `call_${index}`,
              type: 'function',
              function: { name, arguments: formatArguments(args) },
            })),
          }),
        },
      },
    ],
    usage: {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      prompt_tokens_details: { cached_tokens: cachedTokens },
      completion_tokens_details: { reasoning_tokens: reasoningTokens },
    },
  }),
  anthropic: ({ reasoning, toolCalls = [], inputTokens = 10, outputTokens = 5, cachedTokens = 0 }, text) => ({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'scripted' },
    content: [
      ...optionalPart(reasoning, (thinking) => ({ type: 'thinking', thinking, signature: 'signed' })),
      ...optionalPart(text, () => ({ type: 'text', text })),
      ...toolCalls.map(({ name, args }, index) => ({
        ...{ type: 'tool_use', id: `toolu_${index}`, name },
        input: typeof args === 'string' ? { text: args } : args,
      })),
    ],
    stop_reason: toolCalls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: inputTokens - cachedTokens,
      cache_read_input_tokens: cachedTokens,
      cache_creation_input_tokens: 0,
      output_tokens: outputTokens,
    },
  }),
  google: (
    { reasoning, toolCalls = [], inputTokens = 10, outputTokens = 5, cachedTokens = 0, reasoningTokens = 0 },
    text,
  ) => ({
    candidates: [
      {
        index: 0,
        finishReason: 'STOP',
        content: {
          role: 'model',
          parts: [
            ...optionalPart(reasoning, (thought) => ({
              text: thought,
              thought: true,
              thoughtSignature: 'signed',
            })),
            ...optionalPart(text, () => ({ text })),
            ...toolCalls.map(({ name, args }) => ({
              functionCall: { name, args: typeof args === 'string' ? { text: args } : args },
            })),
          ],
        },
      },
    ],
    usageMetadata: {
      promptTokenCount: inputTokens,
      candidatesTokenCount: outputTokens - reasoningTokens,
      thoughtsTokenCount: reasoningTokens,
      totalTokenCount: inputTokens + outputTokens,
      cachedContentTokenCount: cachedTokens,
    },
  }),
  bedrock: ({ reasoning, toolCalls = [], inputTokens = 10, outputTokens = 5, cachedTokens = 0 }, text) => ({
    output: {
      message: {
        role: 'assistant',
        content: [
          ...optionalPart(reasoning, (thought) => ({
            reasoningContent: { reasoningText: { text: thought, signature: 'signed' } },
          })),
          ...optionalPart(text, () => ({ text })),
          ...toolCalls.map(({ name, args }, index) => ({
            toolUse: {
              ...{ toolUseId: `tooluse_${index}`, name },
              input: typeof args === 'string' ? { text: args } : args,
            },
          })),
        ],
      },
    },
    stopReason: toolCalls.length > 0 ? 'tool_use' : 'end_turn',
    usage: {
      inputTokens: inputTokens - cachedTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      cacheReadInputTokens: cachedTokens,
    },
    metrics: { latencyMs: 1 },
  }),
};

/** Returns a list with `createPart(text)`; an empty list if the text is undefined or empty. */
function optionalPart(text: string | undefined, createPart: (text: string) => JsonObject): JsonObject[] {
  return text === undefined || text === '' ? [] : [createPart(text)];
}
