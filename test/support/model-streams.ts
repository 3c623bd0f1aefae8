import { randomUUID } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { JsonObject } from '@heddle/core';
import { argumentsOf, piecesOf } from './model-answer.ts';
import type { ModelAnswer, Protocol } from './model-answer.ts';

/**
 * Returns an answer as a stream of the API: its content type, and its events. A fault occurs after `events`, so that
 * `finalEvents` is sent only without a fault.
 */
export function streamOf(
  protocol: Protocol,
  answer: ModelAnswer,
): { type: string; events: (string | Buffer)[]; finalEvents: (string | Buffer)[] } {
  const { events, finalEvents } = STREAMS[protocol](answer);
  if (protocol === 'bedrock')
    return {
      type: 'application/vnd.amazon.eventstream',
      events: events.map(awsMessage),
      finalEvents: finalEvents.map(awsMessage),
    };
  const end = protocol === 'compatible' ? ['data: [DONE]\n\n'] : [];
  return {
    type: 'text/event-stream',
    events: events.map(sse),
    finalEvents: [...finalEvents.map(sse), ...end],
  };
}

type StreamEvent = JsonObject & { type?: string };

function sse(event: StreamEvent): string {
  const name = event.type === undefined ? '' : `event: ${event.type}\n`;
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

/** Encodes `{ [type]: content }` in the binary format of AWS event streams: lengths, headers, content, checksums. */
function awsMessage(event: StreamEvent): Buffer {
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

const STREAMS: Record<Protocol, (answer: ModelAnswer) => Stream> = {
  openai: (answer) => {
    const { reasoning = '', reasoned = 0, tools = [], input = 10, output = 5, cached = 0 } = answer;
    const pieces = piecesOf(answer);
    const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [] };
    const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'scripted', output: [] };
    const usage = {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoned },
      total_tokens: input + output,
    };
    const text: StreamEvent[] =
      pieces.length === 0
        ? []
        : [
            { type: 'response.output_item.added', output_index: 0, item: message },
            ...pieces.map((delta) => ({
              type: 'response.output_text.delta',
              item_id: 'msg_1',
              output_index: 0,
              content_index: 0,
              delta,
            })),
          ];
    const calls = tools.flatMap(({ name, args }, index): StreamEvent[] => {
      const item = { type: 'function_call', id: `fc_${index}`, call_id: `call_${index}`, name };
      const output_index = index + 1;
      const text = argumentsOf(args);
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
        ...(reasoning === '' ? [] : openaiReasoning(reasoning)),
        ...text,
      ],
      finalEvents: [
        ...(pieces.length === 0
          ? []
          : [{ type: 'response.output_item.done', output_index: 0, item: message }]),
        ...calls,
        { type: 'response.completed', response: { ...response, status: 'completed', usage } },
      ],
    };
  },
  compatible: (answer) => {
    const { reasoning = '', reasoned = 0, tools = [], input = 10, output = 5, cached = 0 } = answer;
    // Callers may distinguish answers by this id.
    const answerId = randomUUID();
    const chunk = (delta: JsonObject, overrides: JsonObject = {}): StreamEvent => ({
      id: answerId,
      object: 'chat.completion.chunk',
      created: 1,
      model: 'scripted',
      choices: [{ index: 0, delta, finish_reason: null, ...overrides }],
    });
    const calls = tools.map(({ name, args, id }, index) =>
      chunk({
        tool_calls: [
          {
            index,
            id: id ?? `call_${index}`,
            type: 'function',
            function: { name, arguments: argumentsOf(args) },
          },
        ],
      }),
    );
    const usage = {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: cached },
      completion_tokens_details: { reasoning_tokens: reasoned },
    };
    return {
      events: [
        chunk({ role: 'assistant', content: '' }),
        ...(reasoning === '' ? [] : [chunk({ reasoning_content: reasoning })]),
        ...piecesOf(answer).map((content) => chunk({ content })),
      ],
      finalEvents: [
        ...calls,
        {
          ...chunk({}, { finish_reason: tools.length > 0 ? 'tool_calls' : 'stop' }),
          usage,
          // Groq sends the usage here.
          x_groq: { usage },
        },
      ],
    };
  },
  anthropic: (answer) => {
    const { reasoning = '', tools = [], input = 10, output = 5, cached = 0 } = answer;
    const pieces = piecesOf(answer);
    const usage = {
      input_tokens: input - cached,
      cache_read_input_tokens: cached,
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
    const toolOffset = pieces.length === 0 ? 0 : 1;
    const text: StreamEvent[] =
      toolOffset === 0
        ? []
        : [
            { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
            ...pieces.map((piece) => ({
              type: 'content_block_delta',
              index: 0,
              delta: { type: 'text_delta', text: piece },
            })),
          ];
    const calls = tools.flatMap(({ name, args }, toolIndex): StreamEvent[] => {
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
          delta: { type: 'input_json_delta', partial_json: argumentsOf(args) },
        },
        { type: 'content_block_stop', index },
      ];
    });
    const stop_reason = tools.length > 0 ? 'tool_use' : 'end_turn';
    return {
      events: [
        { type: 'message_start', message },
        ...(reasoning === '' ? [] : anthropicReasoning(reasoning)),
        ...text,
      ],
      finalEvents: [
        ...(toolOffset === 0 ? [] : [{ type: 'content_block_stop', index: 0 }]),
        ...calls,
        {
          type: 'message_delta',
          delta: { stop_reason, stop_sequence: null },
          usage: { output_tokens: output },
        },
        { type: 'message_stop' },
      ],
    };
  },
  google: (answer) => {
    const { reasoning = '', reasoned = 0, tools = [], input = 10, output = 5, cached = 0 } = answer;
    const part = (parts: JsonObject[], overrides: JsonObject = {}): StreamEvent => ({
      candidates: [{ index: 0, content: { role: 'model', parts }, ...overrides }],
    });
    const calls = tools.map(({ name, args }) => ({
      functionCall: { name, args: typeof args === 'string' ? { text: args } : args },
    }));
    const usageMetadata = {
      promptTokenCount: input,
      candidatesTokenCount: output - reasoned,
      thoughtsTokenCount: reasoned,
      totalTokenCount: input + output,
      cachedContentTokenCount: cached,
    };
    return {
      events: [
        ...(reasoning === '' ? [] : [part([{ text: reasoning, thought: true, thoughtSignature: 'signed' }])]),
        ...piecesOf(answer).map((text) => part([{ text }])),
      ],
      finalEvents: [{ ...part(calls, { finishReason: 'STOP' }), usageMetadata }],
    };
  },
  bedrock: (answer) => {
    const { reasoning = '', tools = [], input = 10, output = 5, cached = 0 } = answer;
    const calls = tools.flatMap(({ name, args }, toolIndex): StreamEvent[] => {
      const contentBlockIndex = toolIndex + 1;
      const toolUse = { toolUseId: `tooluse_${toolIndex}`, name };
      return [
        { contentBlockStart: { contentBlockIndex, start: { toolUse } } },
        { contentBlockDelta: { contentBlockIndex, delta: { toolUse: { input: argumentsOf(args) } } } },
        { contentBlockStop: { contentBlockIndex } },
      ];
    });
    const usage = {
      inputTokens: input - cached,
      outputTokens: output,
      totalTokens: input + output,
      cacheReadInputTokens: cached,
    };
    return {
      events: [
        { messageStart: { role: 'assistant' } },
        ...(reasoning === '' ? [] : bedrockReasoning(reasoning)),
        ...piecesOf(answer).map((text) => ({ contentBlockDelta: { contentBlockIndex: 0, delta: { text } } })),
      ],
      finalEvents: [
        { contentBlockStop: { contentBlockIndex: 0 } },
        ...calls,
        { messageStop: { stopReason: tools.length > 0 ? 'tool_use' : 'end_turn' } },
        { metadata: { usage, metrics: { latencyMs: 1 } } },
      ],
    };
  },
};

/** The index of the reasoning block. No other block has this index. */
const REASONING_BLOCK = 99;

function openaiReasoning(text: string): StreamEvent[] {
  const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'signed' };
  const ids = { item_id: item.id, output_index: REASONING_BLOCK, summary_index: 0 };
  return [
    { type: 'response.output_item.added', output_index: REASONING_BLOCK, item },
    { type: 'response.reasoning_summary_part.added', ...ids },
    { type: 'response.reasoning_summary_text.delta', ...ids, delta: text },
    { type: 'response.output_item.done', output_index: REASONING_BLOCK, item },
  ];
}

function anthropicReasoning(thinking: string): StreamEvent[] {
  const index = REASONING_BLOCK;
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

function bedrockReasoning(text: string): StreamEvent[] {
  const contentBlockIndex = REASONING_BLOCK;
  return [
    { contentBlockDelta: { contentBlockIndex, delta: { reasoningContent: { text } } } },
    { contentBlockDelta: { contentBlockIndex, delta: { reasoningContent: { signature: 'signed' } } } },
    { contentBlockStop: { contentBlockIndex } },
  ];
}
