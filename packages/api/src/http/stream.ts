const encoder = new TextEncoder();

/** A server-sent event. `data` is sent as JSON; `id` is what a client sends back as `Last-Event-ID`. */
export interface ServerSentEvent {
  id?: number | string;
  data: unknown;
}

const EVENT_STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
  'X-Accel-Buffering': 'no',
};

const NDJSON_HEADERS = {
  'Content-Type': 'application/x-ndjson; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
  Vary: 'Accept',
};

interface StreamOptions {
  /** Called when the client stops reading before the end. It must make a pending `next()` of the source settle. */
  onCancel: () => void;
  headers?: { [name: string]: string };
}

/** Returns a response of server-sent events, one `data` line each. */
export function eventStream(events: AsyncIterable<ServerSentEvent>, options: StreamOptions): Response {
  return streamResponse(events, eventText, {
    ...options,
    headers: { ...EVENT_STREAM_HEADERS, ...options.headers },
  });
}

/** Returns a response of JSON lines. */
export function ndjsonResponse(values: AsyncIterable<object>, options: StreamOptions): Response {
  const lineOf = (value: object): string => `${JSON.stringify(value)}\n`;
  return streamResponse(values, lineOf, { ...options, headers: { ...NDJSON_HEADERS, ...options.headers } });
}

function eventText({ id, data }: ServerSentEvent): string {
  const idField = id === undefined ? '' : `id: ${id}\n`;
  return `${idField}data: ${JSON.stringify(data)}\n\n`;
}

/** Returns a response with the text of each item. Reads an item only when the client has taken the previous one. */
function streamResponse<Item>(
  source: AsyncIterable<Item>,
  textOf: (item: Item) => string,
  { onCancel, headers }: StreamOptions,
): Response {
  const items = source[Symbol.asyncIterator]();
  const chunks: AsyncIterator<Uint8Array> = {
    async next() {
      const { done, value } = await items.next();
      return done ? { done, value: undefined } : { done: false, value: encoder.encode(textOf(value)) };
    },
    async return() {
      // First, because a generator does not return while its `next()` is pending.
      onCancel();
      await items.return?.();
      return { done: true, value: undefined };
    },
  };
  const body = ReadableStream.from({ [Symbol.asyncIterator]: () => chunks });
  return new Response(body, headers && { headers });
}

/** Returns `response`; calls `onEnd` once its body has been read or cancelled, or has failed. */
export function withEndCallback(response: Response, onEnd: () => void): Response {
  if (!response.body) {
    onEnd();
    return response;
  }
  const { status, headers } = response;
  const endObserver = new TransformStream<Uint8Array, Uint8Array>({ flush: onEnd, cancel: onEnd });
  return new Response(response.body.pipeThrough(endObserver), { status, headers });
}
