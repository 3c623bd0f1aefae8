import { randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { JsonObject } from '@heddle/core';
import { formatArguments, chunksOf } from './model-response.ts';
import type { ModelResponse, ProviderApi } from './model-response.ts';

/**
 * Returns a response as a stream of the API: its content type, and its events. A fault occurs after `events`, so that
 * `finalEvents` is sent only without a fault.
 */
export function streamOf(
  providerApi: ProviderApi,
  modelResponse: ModelResponse,
): { contentType: string; events: (string | Buffer)[]; finalEvents: (string | Buffer)[] } {
  const { events, finalEvents } = STREAM_BUILDERS[providerApi](modelResponse);
  if (providerApi === 'bedrock')
    return {
      contentType: 'application/vnd.amazon.eventstream',
      events: events.map(encodeAwsMessage),
      finalEvents: finalEvents.map(encodeAwsMessage),
    };
  const end = providerApi === 'compatible' ? ['data: [DONE]\n\n'] : [];
  return {
    contentType: 'text/event-stream',
    events: events.map(formatSseEvent),
    finalEvents: [...finalEvents.map(formatSseEvent), ...end],
  };
}

type StreamEvent = JsonObject & { type?: string };

function formatSseEvent(event: StreamEvent): string {
  const name = event.type === undefined ? '' : `event: ${event.type}\n`;
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

/** Encodes `{ [type]: content }` in the binary format of AWS event streams: lengths, headers, content, checksums. */
function encodeAwsMessage(event: StreamEvent): Buffer {
  const [[type, content] = ['', {}]] = Object.entries(event);
  const header = (name: string, value: string): Buffer =>
    Buffer.concat([
      Buffer.from([name.length]),
      Buffer.from(name),
      Buffer.from([7, 0, value.length]),
      Buffer.from(value),
    ]);
  const headers = Buffer.concat([header(':message-type', 'event'), header(':event-type', type)]);
  const body = Buffer.from(JSON.stringify(content));
  const uint32 = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const prelude = Buffer.concat([uint32(16 + headers.length + body.length), uint32(headers.length)]);
  const message = Buffer.concat([prelude, uint32(crc32(prelude)), headers, body]);
  return Buffer.concat([message, uint32(crc32(message))]);
}

interface Stream {
  /** Sent before a fault. */
  events: StreamEvent[];
  /** Sent only without a fault. */
  finalEvents: StreamEvent[];
}

const STREAM_BUILDERS: Record<ProviderApi, (modelResponse: ModelResponse) => Stream> = {
  openai: (modelResponse) => {
    const {
      reasoning = '',
      reasoningTokens = 0,
      toolCalls = [],
      inputTokens = 10,
      outputTokens = 5,
      cachedTokens = 0,
    } = modelResponse;
    const chunks = chunksOf(modelResponse);
    const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [] };
    const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'scripted', output: [] };
    const usage = {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cachedTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: reasoningTokens },
      total_tokens: inputTokens + outputTokens,
    };
    const textEvents: StreamEvent[] =
      chunks.length === 0
        ? []
        : [
            { type: 'response.output_item.added', output_index: 0, item: message },
            ...chunks.map((delta) => ({
              type: 'response.output_text.delta',
              item_id: 'msg_1',
              output_index: 0,
              content_index: 0,
              delta,
            })),
          ];
    const callEvents = toolCalls.flatMap(({ name, args }, index): StreamEvent[] => {
      const item = { type: 'function_call', id: `fc_${index}`, call_id: `call_${index}`, name };
      const output_index = index + 1;
      const text = formatArguments(args);
      return [
        {
          type: 'response.output_item.added',
          output_index,
          item: { ...item, arguments: '', status: 'in_progress' },
        },
        { type: 'response.function_call_arguments.delta', item_id: item.id, output_index, delta: text },
        {
          type: 'response.output_item.done',
          output_index,
          item: { ...item, arguments: text, status: 'completed' },
        },
      ];
    });
    return {
      events: [
        { type: 'response.created', response: { ...response, status: 'in_progress' } },
        ...(reasoning === '' ? [] : openaiReasoningEvents(reasoning)),
        ...textEvents,
      ],
      finalEvents: [
        ...(chunks.length === 0
          ? []
          : [{ type: 'response.output_item.done', output_index: 0, item: message }]),
        ...callEvents,
        { type: 'response.completed', response: { ...response, status: 'completed', usage } },
      ],
    };
  },
  compatible: (modelResponse) => {
    const {
      reasoning = '',
      reasoningTokens = 0,
      toolCalls = [],
      inputTokens = 10,
      outputTokens = 5,
      cachedTokens = 0,
    } = modelResponse;
    // Callers may distinguish responses by this id.
    const responseId = randomUUID();
    const chunk = (delta: JsonObject, overrides: JsonObject = {}): StreamEvent => ({
      id: responseId,
      object: 'chat.completion.chunk',
      created: 1,
      model: 'scripted',
      choices: [{ index: 0, delta, finish_reason: null, ...overrides }],
    });
    const callEvents = toolCalls.map(({ name, args, id }, index) =>
      chunk({
        tool_calls: [
          {
            index,
            id: id ?? `call_${index}`,
            type: 'function',
            function: { name, arguments: formatArguments(args) },
          },
        ],
      }),
    );
    const usage = {
      prompt_tokens: inputTokens,
      completion_tokens: outputTokens,
      total_tokens: inputTokens + outputTokens,
      prompt_tokens_details: { cached_tokens: cachedTokens },
      completion_tokens_details: { reasoning_tokens: reasoningTokens },
    };
    return {
      events: [
        chunk({ role: 'assistant', content: '' }),
        ...(reasoning === '' ? [] : [chunk({ reasoning_content: reasoning })]),
        ...chunksOf(modelResponse).map((content) => chunk({ content })),
      ],
      finalEvents: [
        ...callEvents,
        {
          ...chunk({}, { finish_reason: toolCalls.length > 0 ? 'tool_calls' : 'stop' }),
          usage,
          // Groq sends the usage here.
          x_groq: { usage },
        },
      ],
    };
  },
  anthropic: (modelResponse) => {
    const {
      reasoning = '',
      toolCalls = [],
      inputTokens = 10,
      outputTokens = 5,
      cachedTokens = 0,
    } = modelResponse;
    const chunks = chunksOf(modelResponse);
    const usage = {
      input_tokens: inputTokens - cachedTokens,
      cache_read_input_tokens: cachedTokens,
      cache_creation_input_tokens: 0,
      output_tokens: 1,
    };
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'scripted',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage,
    };
    const toolOffset = chunks.length === 0 ? 0 : 1;
    const textEvents: StreamEvent[] =
      toolOffset === 0
        ? []
        : [
            { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
            ...chunks.map((chunk) => ({
              type: 'content_block_delta',
              index: 0,
              delta: { type: 'text_delta', text: chunk },
            })),
          ];
    const callEvents = toolCalls.flatMap(({ name, args }, toolIndex): StreamEvent[] => {
      const index = toolIndex + toolOffset;
      return [
        {
          type: 'content_block_start',
          index,
          content_block: { type: 'tool_use', id: `toolu_${toolIndex}`, name, input: {} },
        },
        {
          type: 'content_block_delta',
          index,
          delta: { type: 'input_json_delta', partial_json: formatArguments(args) },
        },
        { type: 'content_block_stop', index },
      ];
    });
    const stop_reason = toolCalls.length > 0 ? 'tool_use' : 'end_turn';
    return {
      events: [
        { type: 'message_start', message },
        ...(reasoning === '' ? [] : anthropicReasoningEvents(reasoning)),
        ...textEvents,
      ],
      finalEvents: [
        ...(toolOffset === 0 ? [] : [{ type: 'content_block_stop', index: 0 }]),
        ...callEvents,
        {
          type: 'message_delta',
          delta: { stop_reason, stop_sequence: null },
          usage: { output_tokens: outputTokens },
        },
        { type: 'message_stop' },
      ],
    };
  },
  google: (modelResponse) => {
    const {
      reasoning = '',
      reasoningTokens = 0,
      toolCalls = [],
      inputTokens = 10,
      outputTokens = 5,
      cachedTokens = 0,
    } = modelResponse;
    const candidateEvent = (parts: JsonObject[], overrides: JsonObject = {}): StreamEvent => ({
      candidates: [{ index: 0, content: { role: 'model', parts }, ...overrides }],
    });
    const callParts = toolCalls.map(({ name, args }) => ({
      functionCall: { name, args: typeof args === 'string' ? { text: args } : args },
    }));
    const usageMetadata = {
      promptTokenCount: inputTokens,
      candidatesTokenCount: outputTokens - reasoningTokens,
      thoughtsTokenCount: reasoningTokens,
      totalTokenCount: inputTokens + outputTokens,
      cachedContentTokenCount: cachedTokens,
    };
    return {
      events: [
        ...(reasoning === ''
          ? []
          : [candidateEvent([{ text: reasoning, thought: true, thoughtSignature: 'signed' }])]),
        ...chunksOf(modelResponse).map((text) => candidateEvent([{ text }])),
      ],
      finalEvents: [{ ...candidateEvent(callParts, { finishReason: 'STOP' }), usageMetadata }],
    };
  },
  bedrock: (modelResponse) => {
    const {
      reasoning = '',
      toolCalls = [],
      inputTokens = 10,
      outputTokens = 5,
      cachedTokens = 0,
    } = modelResponse;
    const callEvents = toolCalls.flatMap(({ name, args }, toolIndex): StreamEvent[] => {
      const contentBlockIndex = toolIndex + 1;
      const toolUse = { toolUseId: `tooluse_${toolIndex}`, name };
      return [
        { contentBlockStart: { contentBlockIndex, start: { toolUse } } },
        { contentBlockDelta: { contentBlockIndex, delta: { toolUse: { input: formatArguments(args) } } } },
        { contentBlockStop: { contentBlockIndex } },
      ];
    });
    const usage = {
      inputTokens: inputTokens - cachedTokens,
      outputTokens,
      totalTokens: inputTokens + outputTokens,
      cacheReadInputTokens: cachedTokens,
    };
    return {
      events: [
        { messageStart: { role: 'assistant' } },
        ...(reasoning === '' ? [] : bedrockReasoningEvents(reasoning)),
        ...chunksOf(modelResponse).map((text) => ({
          contentBlockDelta: { contentBlockIndex: 0, delta: { text } },
        })),
      ],
      finalEvents: [
        { contentBlockStop: { contentBlockIndex: 0 } },
        ...callEvents,
        { messageStop: { stopReason: toolCalls.length > 0 ? 'tool_use' : 'end_turn' } },
        { metadata: { usage, metrics: { latencyMs: 1 } } },
      ],
    };
  },
};

/** The index of the reasoning block. No other block has this index. */
const REASONING_BLOCK_INDEX = 99;

function openaiReasoningEvents(text: string): StreamEvent[] {
  const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'signed' };
  const ids = { item_id: item.id, output_index: REASONING_BLOCK_INDEX, summary_index: 0 };
  return [
    { type: 'response.output_item.added', output_index: REASONING_BLOCK_INDEX, item },
    { type: 'response.reasoning_summary_part.added', ...ids },
    { type: 'response.reasoning_summary_text.delta', ...ids, delta: text },
    { type: 'response.output_item.done', output_index: REASONING_BLOCK_INDEX, item },
  ];
}

function anthropicReasoningEvents(thinking: string): StreamEvent[] {
  const index = REASONING_BLOCK_INDEX;
  const delta = (content: JsonObject): StreamEvent => ({
    type: 'content_block_delta',
    index,
    delta: content,
  });
  return [
    { type: 'content_block_start', index, content_block: { type: 'thinking', thinking: '' } },
    delta({ type: 'thinking_delta', thinking }),
    delta({ type: 'signature_delta', signature: 'signed' }),
    { type: 'content_block_stop', index },
  ];
}

function bedrockReasoningEvents(text: string): StreamEvent[] {
  const contentBlockIndex = REASONING_BLOCK_INDEX;
  return [
    { contentBlockDelta: { contentBlockIndex, delta: { reasoningContent: { text } } } },
    { contentBlockDelta: { contentBlockIndex, delta: { reasoningContent: { signature: 'signed' } } } },
    { contentBlockStop: { contentBlockIndex } },
  ];
}
