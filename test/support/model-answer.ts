import type { Json, JsonObject } from '@heddle/core';

/** The API of a request. */
export type Protocol = 'openai' | 'compatible' | 'anthropic' | 'google' | 'bedrock';

/** An answer of the server. */
export interface ModelAnswer {
  text?: string;
  /** The text in several pieces. Default: `text` in one piece. */
  pieces?: readonly string[];
  /** Precedes the text. */
  reasoning?: string;
  /** Tool calls. `id` is the id of the call, which only the API of OpenAI's chat completions uses. */
  tools?: readonly { name: string; args: Json | string; id?: string }[];
  /** Numbers of tokens. `input` includes `cached`, and `output` includes `reasoned`. */
  input?: number;
  output?: number;
  cached?: number;
  /** Tokens of the output that were reasoning. */
  reasoned?: number;
  /** True if the answer is one JSON document, even if the request asks for a stream. */
  whole?: true;
  /** A body that is sent instead of the document of the answer. */
  body?: string;
  /** The content type of the response. Default: that of the answer. */
  type?: string;
  /** The status of an error that is sent instead of an answer. The error has the text `message`. */
  status?: number;
  message?: string;
  headers?: { [name: string]: string };
  /** The answer stops after the text, or after half of a document, and the connection stays open. */
  stalls?: true;
  /** The stream ends after the text, without its last events. */
  endsEarly?: true;
  /** The connection breaks after the text, or after half of a document. */
  disconnects?: true;
  /** The answer is sent after this resolves. */
  after?: Promise<unknown>;
}

/** Returns the pieces of the text. */
export function piecesOf({ pieces, text }: ModelAnswer): readonly string[] {
  return pieces ?? (text === undefined ? [] : [text]);
}

/** Returns the arguments of a call as the text of a model. */
export function argumentsOf(args: Json | string): string {
  return typeof args === 'string' ? args : JSON.stringify(args);
}

/** Returns an answer as one document of the API. */
export function wholeAnswer(protocol: Protocol, answer: ModelAnswer): JsonObject {
  return DOCUMENTS[protocol](answer, piecesOf(answer).join(''));
}

const DOCUMENTS: Record<Protocol, (answer: ModelAnswer, text: string) => JsonObject> = {
  openai: ({ reasoning, tools = [], input = 10, output = 5, cached = 0, reasoned = 0 }, text) => ({
    ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'scripted', status: 'completed' },
    ...{ error: null, incomplete_details: null },
    output: [
      ...partIf(reasoning, (summary) => ({
        ...{ type: 'reasoning', id: 'rs_1', encrypted_content: 'signed' },
        summary: [{ type: 'summary_text', text: summary }],
      })),
      ...partIf(text, () => ({
        ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' },
        content: [{ type: 'output_text', text, annotations: [] }],
      })),
      ...tools.map(({ name, args }, index) => ({
        ...{ type: 'function_call', id: `fc_${index}`, call_id: `call_${index}`, name },
        ...{ arguments: argumentsOf(args), status: 'completed' },
      })),
    ],
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoned },
    },
  }),
  compatible: ({ reasoning, tools = [], input = 10, output = 5, cached = 0, reasoned = 0 }, text) => ({
    ...{ id: 'answer_1', object: 'chat.completion', created: 1, model: 'scripted' },
    choices: [
      {
        index: 0,
        finish_reason: tools.length > 0 ? 'tool_calls' : 'stop',
        message: {
          role: 'assistant',
          content: text === '' ? null : text,
          ...(reasoning !== undefined && { reasoning_content: reasoning }),
          ...(tools.length > 0 && {
            tool_calls: tools.map(({ name, args, id }, index) => ({
              id: id ?? `call_${index}`,
              type: 'function',
              function: { name, arguments: argumentsOf(args) },
            })),
          }),
        },
      },
    ],
    usage: {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: reasoned },
    },
  }),
  anthropic: ({ reasoning, tools = [], input = 10, output = 5, cached = 0 }, text) => ({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'scripted' },
    content: [
      ...partIf(reasoning, (thinking) => ({ type: 'thinking', thinking, signature: 'signed' })),
      ...partIf(text, () => ({ type: 'text', text })),
      ...tools.map(({ name, args }, index) => ({
        ...{ type: 'tool_use', id: `toolu_${index}`, name },
        input: typeof args === 'string' ? { text: args } : args,
      })),
    ],
    stop_reason: tools.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: input - cached,
      cache_read_input_tokens: cached,
      cache_creation_input_tokens: 0,
      output_tokens: output,
    },
  }),
  google: ({ reasoning, tools = [], input = 10, output = 5, cached = 0, reasoned = 0 }, text) => ({
    candidates: [
      {
        index: 0,
        finishReason: 'STOP',
        content: {
          role: 'model',
          parts: [
            ...partIf(reasoning, (thought) => ({ text: thought, thought: true, thoughtSignature: 'signed' })),
            ...partIf(text, () => ({ text })),
            ...tools.map(({ name, args }) => ({
              functionCall: { name, args: typeof args === 'string' ? { text: args } : args },
            })),
          ],
        },
      },
    ],
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: output - reasoned,
      thoughtsTokenCount: reasoned,
      totalTokenCount: input + output,
      cachedContentTokenCount: cached,
    },
  }),
  bedrock: ({ reasoning, tools = [], input = 10, output = 5, cached = 0 }, text) => ({
    output: {
      message: {
        role: 'assistant',
        content: [
          ...partIf(reasoning, (thought) => ({
            reasoningContent: { reasoningText: { text: thought, signature: 'signed' } },
          })),
          ...partIf(text, () => ({ text })),
          ...tools.map(({ name, args }, index) => ({
            toolUse: {
              ...{ toolUseId: `tooluse_${index}`, name },
              input: typeof args === 'string' ? { text: args } : args,
            },
          })),
        ],
      },
    },
    stopReason: tools.length > 0 ? 'tool_use' : 'end_turn',
    usage: {
      inputTokens: input - cached,
      outputTokens: output,
      totalTokens: input + output,
      cacheReadInputTokens: cached,
    },
    metrics: { latencyMs: 1 },
  }),
};

/** Returns a list with `part(text)`; an empty list if the text is undefined or empty. */
function partIf(text: string | undefined, part: (text: string) => JsonObject): JsonObject[] {
  return text === undefined || text === '' ? [] : [part(text)];
}
