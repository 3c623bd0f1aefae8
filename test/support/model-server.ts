import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json, JsonObject } from '@heddle/core';

/** The interface that a request speaks. */
export type Protocol = 'openai' | 'compatible' | 'anthropic' | 'google';

/** A request to the server. */
export interface ModelRequest {
  protocol: Protocol;
  /** From 1. */
  number: number;
  path: string;
  headers: IncomingMessage['headers'];
  body: JsonObject;
}

/** What the server answers. */
export interface ModelAnswer {
  text?: string;
  /** Sent as several pieces. Default: as one. */
  pieces?: readonly string[];
  tools?: readonly { name: string; args: Json | string }[];
  input?: number;
  output?: number;
  cached?: number;
  /** A refusal instead of an answer. */
  status?: number;
  message?: string;
  headers?: { [name: string]: string };
  /** The connection breaks after the text. */
  cut?: true;
  /** Nothing is sent before this resolves. */
  after?: Promise<unknown>;
}

export interface ModelServer {
  requests: ModelRequest[];
  /** Addresses for the option `services` of an engine. */
  services: { openai: string; anthropic: string; google: string; local: string };
  close(): Promise<void>;
}

/** Starts a server that speaks the streaming interfaces of OpenAI, of what is compatible with it, of Anthropic and of Google. */
export async function startModelServer(answer: (request: ModelRequest) => ModelAnswer): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const server = createServer((incoming, response) => {
    void respond(incoming, response, { requests, answer });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    requests,
    services: {
      openai: `${base}/v1`,
      anthropic: `${base}/v1`,
      google: `${base}/v1beta`,
      local: `${base}/local/v1`,
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function respond(
  incoming: IncomingMessage,
  response: ServerResponse,
  { requests, answer }: { requests: ModelRequest[]; answer: (request: ModelRequest) => ModelAnswer },
): Promise<void> {
  let text = '';
  for await (const chunk of incoming) text += String(chunk);
  const path = incoming.url ?? '';
  const request = {
    protocol: protocolOf(path),
    number: requests.length + 1,
    path,
    headers: incoming.headers,
    body: JSON.parse(text) as JsonObject,
  };
  requests.push(request);
  const given = answer(request);
  await given.after;
  if (given.status !== undefined) {
    response.writeHead(given.status, { 'content-type': 'application/json', ...given.headers });
    response.end(JSON.stringify(ERRORS[request.protocol](given.message ?? 'refused')));
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', ...given.headers });
  const { events, rest } = STREAMS[request.protocol](given);
  const write = (event: StreamEvent): boolean => response.write(sse(event));
  for (const event of events) write(event);
  if (given.cut) return void setImmediate(() => response.destroy());
  for (const event of rest) write(event);
  response.end(request.protocol === 'compatible' ? 'data: [DONE]\n\n' : '');
}

function protocolOf(path: string): Protocol {
  if (path.includes(':streamGenerateContent')) return 'google';
  if (path.endsWith('/messages')) return 'anthropic';
  return path.endsWith('/chat/completions') ? 'compatible' : 'openai';
}

type StreamEvent = JsonObject & { type?: string };

function sse(event: StreamEvent): string {
  const name = event.type === undefined ? '' : `event: ${event.type}\n`;
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

const ERRORS: Record<Protocol, (message: string) => JsonObject> = {
  openai: (message) => ({ error: { message, type: 'error', code: null, param: null } }),
  compatible: (message) => ({ error: { message, type: 'error', code: null, param: null } }),
  anthropic: (message) => ({ type: 'error', error: { type: 'error', message } }),
  google: (message) => ({ error: { code: 400, message, status: 'ERROR' } }),
};

function piecesOf({ pieces, text }: ModelAnswer): readonly string[] {
  return pieces ?? (text === undefined ? [] : [text]);
}

function argumentsOf(args: Json | string): string {
  return typeof args === 'string' ? args : JSON.stringify(args);
}

interface Stream {
  /** Sent before a cut. */
  events: StreamEvent[];
  rest: StreamEvent[];
}

const STREAMS: Record<Protocol, (answer: ModelAnswer) => Stream> = {
  openai: (answer) => {
    const { tools = [], input = 10, output = 5, cached = 0 } = answer;
    const pieces = piecesOf(answer);
    const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content: [] };
    const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'scripted', output: [] };
    const usage = {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 0 },
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
      events: [{ type: 'response.created', response: { ...response, status: 'in_progress' } }, ...text],
      rest: [
        ...(pieces.length === 0
          ? []
          : [{ type: 'response.output_item.done', output_index: 0, item: message }]),
        ...calls,
        { type: 'response.completed', response: { ...response, status: 'completed', usage } },
      ],
    };
  },
  compatible: (answer) => {
    const { tools = [], input = 10, output = 5, cached = 0 } = answer;
    const chunk = (delta: JsonObject, more: JsonObject = {}): StreamEvent => ({
      id: 'chat_1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'scripted',
      choices: [{ index: 0, delta, finish_reason: null, ...more }],
    });
    const calls = tools.map(({ name, args }, index) =>
      chunk({
        tool_calls: [
          { index, id: `call_${index}`, type: 'function', function: { name, arguments: argumentsOf(args) } },
        ],
      }),
    );
    const usage = {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: cached },
    };
    return {
      events: [
        chunk({ role: 'assistant', content: '' }),
        ...piecesOf(answer).map((content) => chunk({ content })),
      ],
      rest: [...calls, { ...chunk({}, { finish_reason: tools.length > 0 ? 'tool_calls' : 'stop' }), usage }],
    };
  },
  anthropic: (answer) => {
    const { tools = [], input = 10, output = 5, cached = 0 } = answer;
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
    const first = pieces.length === 0 ? 0 : 1;
    const text: StreamEvent[] =
      first === 0
        ? []
        : [
            { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
            ...pieces.map((piece) => ({
              type: 'content_block_delta',
              index: 0,
              delta: { type: 'text_delta', text: piece },
            })),
          ];
    const calls = tools.flatMap(({ name, args }, at): StreamEvent[] => {
      const index = at + first;
      return [
        {
          type: 'content_block_start',
          index,
          content_block: { type: 'tool_use', id: `toolu_${at}`, name, input: {} },
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
      events: [{ type: 'message_start', message }, ...text],
      rest: [
        ...(first === 0 ? [] : [{ type: 'content_block_stop', index: 0 }]),
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
    const { tools = [], input = 10, output = 5, cached = 0 } = answer;
    const part = (parts: JsonObject[], more: JsonObject = {}): StreamEvent => ({
      candidates: [{ index: 0, content: { role: 'model', parts }, ...more }],
    });
    const calls = tools.map(({ name, args }) => ({
      functionCall: { name, args: typeof args === 'string' ? { text: args } : args },
    }));
    const usageMetadata = {
      promptTokenCount: input,
      candidatesTokenCount: output,
      totalTokenCount: input + output,
      cachedContentTokenCount: cached,
    };
    return {
      events: piecesOf(answer).map((text) => part([{ text }])),
      rest: [{ ...part(calls, { finishReason: 'STOP' }), usageMetadata }],
    };
  },
};
