import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { crc32 } from 'node:zlib';
import type { JsonObject } from '@heddle/core';
import { argumentsOf, piecesOf, wholeAnswer } from './model-answer.ts';
import type { ModelAnswer, Protocol } from './model-answer.ts';

export type { ModelAnswer } from './model-answer.ts';

/** A request to the server. */
export interface ModelRequest {
  protocol: Protocol;
  /** From 1. */
  number: number;
  path: string;
  headers: IncomingMessage['headers'];
  body: JsonObject;
}

export interface ModelServer {
  requests: ModelRequest[];
  /** Addresses for the option `services` of an engine. */
  services: { readonly [provider in (typeof SERVICES)[number]]: string };
  close(): Promise<void>;
}

/** Providers with an address here; `local` is any that is compatible with OpenAI. */
const SERVICES = [
  'openai',
  'anthropic',
  'google',
  'mistral',
  'groq',
  'openrouter',
  'azure',
  'bedrock',
  'local',
] as const;

/** Paths of the addresses of providers; of the others: their names and a version. */
const PATHS: { readonly [provider: string]: string } = {
  openai: '/v1',
  anthropic: '/v1',
  google: '/v1beta',
  azure: '',
  bedrock: '',
};

/** Starts a server that speaks the interfaces of OpenAI, of what is compatible with it, of Anthropic, Google and Bedrock, streamed and not. */
export async function startModelServer(answer: (request: ModelRequest) => ModelAnswer): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const server = createServer((incoming, response) => {
    void respond(incoming, response, { requests, answer });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    requests,
    services: Object.fromEntries(
      SERVICES.map((provider) => [provider, `${base}${PATHS[provider] ?? `/${provider}/v1`}`]),
    ) as ModelServer['services'],
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
  if (given.whole || given.body !== undefined || !asksForStream(request))
    return sendWhole(response, request.protocol, given);
  sendStream(response, request.protocol, given);
}

function sendWhole(response: ServerResponse, protocol: Protocol, given: ModelAnswer): void {
  const body = given.body ?? JSON.stringify(wholeAnswer(protocol, given));
  response.writeHead(200, { 'content-type': given.type ?? 'application/json', ...given.headers });
  if (!given.stalls && !given.cut) return void response.end(body);
  response.write(body.slice(0, body.length / 2));
  if (given.cut) setImmediate(() => response.destroy());
}

function sendStream(response: ServerResponse, protocol: Protocol, given: ModelAnswer): void {
  const isBedrock = protocol === 'bedrock';
  const type = isBedrock ? 'application/vnd.amazon.eventstream' : 'text/event-stream';
  response.writeHead(200, { 'content-type': given.type ?? type, ...given.headers });
  const { events, rest } = STREAMS[protocol](given);
  const write = (event: StreamEvent): boolean => response.write(isBedrock ? awsMessage(event) : sse(event));
  for (const event of events) write(event);
  if (given.stalls) return;
  if (given.cut) return void setImmediate(() => response.destroy());
  if (given.ends) return void response.end();
  for (const event of rest) write(event);
  response.end(protocol === 'compatible' ? 'data: [DONE]\n\n' : '');
}

function asksForStream({ path, body }: ModelRequest): boolean {
  return body['stream'] === true || /:streamGenerateContent|\/converse-stream/.test(path);
}

function protocolOf(url: string): Protocol {
  const [path = ''] = url.split('?');
  if (/:(?:streamGenerateContent|generateContent)$/.test(path)) return 'google';
  if (/\/converse(?:-stream)?$/.test(path)) return 'bedrock';
  if (path.endsWith('/messages')) return 'anthropic';
  return path.endsWith('/chat/completions') ? 'compatible' : 'openai';
}

type StreamEvent = JsonObject & { type?: string };

function sse(event: StreamEvent): string {
  const name = event.type === undefined ? '' : `event: ${event.type}\n`;
  return `${name}data: ${JSON.stringify(event)}\n\n`;
}

/** Encodes `{ [type]: content }` in the binary format of event streams of AWS: lengths, headers, content, checksums. */
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
  const number = (value: number): Buffer => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const prelude = Buffer.concat([number(16 + headers.length + body.length), number(headers.length)]);
  const summed = Buffer.concat([prelude, number(crc32(prelude)), headers, body]);
  return Buffer.concat([summed, number(crc32(summed))]);
}

const ERRORS: Record<Protocol, (message: string) => JsonObject> = {
  openai: (message) => ({ error: { message, type: 'error', code: null, param: null } }),
  // At the top as Mistral has it.
  compatible: (message) => {
    const error = { message, type: 'error', code: null, param: null };
    return { object: 'error', ...error, error };
  },
  anthropic: (message) => ({ type: 'error', error: { type: 'error', message } }),
  google: (message) => ({ error: { code: 400, message, status: 'ERROR' } }),
  bedrock: (message) => ({ message }),
};

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
    // Callers may tell answers apart by it.
    const answerId = randomUUID();
    const chunk = (delta: JsonObject, more: JsonObject = {}): StreamEvent => ({
      id: answerId,
      object: 'chat.completion.chunk',
      created: 1,
      model: 'scripted',
      choices: [{ index: 0, delta, finish_reason: null, ...more }],
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
    };
    return {
      events: [
        chunk({ role: 'assistant', content: '' }),
        ...piecesOf(answer).map((content) => chunk({ content })),
      ],
      rest: [
        ...calls,
        {
          ...chunk({}, { finish_reason: tools.length > 0 ? 'tool_calls' : 'stop' }),
          usage,
          // Where Groq has it.
          x_groq: { usage },
        },
      ],
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
  bedrock: (answer) => {
    const { tools = [], input = 10, output = 5, cached = 0 } = answer;
    const calls = tools.flatMap(({ name, args }, at): StreamEvent[] => {
      const contentBlockIndex = at + 1;
      const toolUse = { toolUseId: `tooluse_${at}`, name };
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
        ...piecesOf(answer).map((text) => ({ contentBlockDelta: { contentBlockIndex: 0, delta: { text } } })),
      ],
      rest: [
        { contentBlockStop: { contentBlockIndex: 0 } },
        ...calls,
        { messageStop: { stopReason: tools.length > 0 ? 'tool_use' : 'end_turn' } },
        { metadata: { usage, metrics: { latencyMs: 1 } } },
      ],
    };
  },
};
