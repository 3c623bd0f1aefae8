const STREAM_TYPES = /^\s*(?:text\/event-stream|application\/vnd\.amazon\.eventstream)\s*(?:;|$)/i;
/** Length of the longest field names of an event stream, `event:` and `retry:`. */
const MAX_FIELD_NAME_CHARS = 6;
const EVENT_FIELD = /^(?:data|event|id|retry)?:/;

/** Thrown by `streamingFetch`: the server has responded with one document instead of a stream. */
export class NonStreamingResponseError extends Error {
  override readonly name = 'NonStreamingResponseError';
  /** The body. */
  readonly text: string;

  constructor(text: string) {
    super('The response is not a stream.');
    this.text = text;
  }
}

/**
 * Returns a `fetch` for requests that ask for a stream. It throws a NonStreamingResponseError for a successful response
 * that is not a stream, whatever type the server declares: SDKs would find no events in it and return an empty
 * response.
 */
export function streamingFetch(send: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init);
    if (!response.ok) return response;
    if (response.body === null) throw new NonStreamingResponseError('');
    const isDeclaredAsStream = STREAM_TYPES.test(response.headers.get('content-type') ?? '');
    const reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    const chunks: Uint8Array[] = [];
    const start = await readStart(reader, chunks, isDeclaredAsStream ? 1 : MAX_FIELD_NAME_CHARS);
    const isStream = isDeclaredAsStream ? start !== '' && !/^[{[<]/.test(start) : EVENT_FIELD.test(start);
    if (!isStream) throw new NonStreamingResponseError(await readWholeText(reader, chunks));
    const { status, statusText, headers } = response;
    return new Response(bodyFrom(reader, chunks), { status, statusText, headers });
  };
}

/**
 * Returns at least `minChars` characters from the start of the body, without leading white space, or the whole body if
 * it is shorter. Adds the chunks that were read to `chunks`.
 */
async function readStart(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  chunks: Uint8Array[],
  minChars: number,
): Promise<string> {
  const decoder = new TextDecoder();
  let start = '';
  while (start.length < minChars) {
    const { done, value } = await reader.read();
    if (done) break;
    chunks.push(value);
    start = (start + decoder.decode(value, { stream: true })).trimStart();
  }
  return start;
}

/** Returns the whole text of a body. The client limits its size. */
async function readWholeText(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  chunks: readonly Uint8Array[],
): Promise<string> {
  const decoder = new TextDecoder();
  const texts = chunks.map((chunk) => decoder.decode(chunk, { stream: true }));
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return texts.join('') + decoder.decode();
    texts.push(decoder.decode(value, { stream: true }));
  }
}

/** Returns a body with these chunks before the chunks of the reader. */
function bodyFrom(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  chunks: Uint8Array[],
): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const first = chunks.shift();
      if (first) return controller.enqueue(first);
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
