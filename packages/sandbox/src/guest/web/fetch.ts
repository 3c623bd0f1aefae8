import { callHost } from '../calls.ts';
import { viewOf, fromBinary, toBinary } from './bytes.ts';
import { decode, encode, TextDecoder, TextEncoder } from './encoding.ts';
import { Headers } from './headers.ts';

interface ResponseInit {
  readonly status?: number;
  readonly statusText?: string;
  readonly headers?: ConstructorParameters<typeof Headers>[0];
}

interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly redirected: boolean;
  readonly headers: [string, string][];
}

interface FetchInit {
  readonly method?: unknown;
  readonly headers?: ConstructorParameters<typeof Headers>[0];
  readonly body?: unknown;
  readonly redirect?: unknown;
  readonly signal?: {
    readonly aborted: boolean;
    readonly reason: unknown;
    addEventListener(type: 'abort', listener: () => void): void;
  } | null;
}

/** Returns a body as bytes, with the content type that it implies. */
function readBody(body: unknown): { bytes: Uint8Array; contentType: string | undefined } | undefined {
  if (body === null || body === undefined) return undefined;
  const view = viewOf(body);
  if (view !== undefined) return { bytes: view, contentType: undefined };
  const isForm =
    typeof body === 'object' && Object.prototype.toString.call(body) === '[object URLSearchParams]';
  return {
    bytes: encode(String(body)),
    contentType: isForm ? 'application/x-www-form-urlencoded;charset=UTF-8' : 'text/plain;charset=UTF-8',
  };
}

export class Response {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Headers;
  readonly url: string = '';
  readonly redirected: boolean = false;
  readonly type = 'basic';
  #bytes: Uint8Array;
  #isUsed = false;

  constructor(body?: unknown, init: ResponseInit = {}) {
    const content = readBody(body);
    this.status = init.status ?? 200;
    this.statusText = init.statusText ?? '';
    this.headers = new Headers(init.headers);
    if (content?.contentType !== undefined && !this.headers.has('content-type'))
      this.headers.set('content-type', content.contentType);
    this.#bytes = content?.bytes ?? new Uint8Array(0);
  }

  static json(value: unknown, init: ResponseInit = {}): Response {
    const response = new Response(JSON.stringify(value), init);
    response.headers.set('content-type', 'application/json');
    return response;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get bodyUsed(): boolean {
    return this.#isUsed;
  }

  clone(): Response {
    if (this.#isUsed) throw new TypeError('The body of the response was already read');
    const copy = new Response(this.#bytes, this);
    return withUrl(copy, this.url, this.redirected);
  }

  async bytes(): Promise<Uint8Array> {
    if (this.#isUsed) throw new TypeError('The body of the response was already read');
    this.#isUsed = true;
    return this.#bytes.slice();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer as ArrayBuffer;
  }

  async text(): Promise<string> {
    return decode(await this.bytes());
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }
}

function withUrl(response: Response, url: string, redirected: boolean): Response {
  Object.defineProperty(response, 'url', { value: url });
  Object.defineProperty(response, 'redirected', { value: redirected });
  return response;
}

/** Rejects with the signal's reason once the signal is aborted. */
function rejectOnAbort(signal: NonNullable<FetchInit['signal']>): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason));
  });
}

/** Sends a request through the host, whose egress policy decides which destinations are allowed. */
export async function fetch(input: unknown, init: FetchInit = {}): Promise<Response> {
  const body = readBody(init.body);
  const headers = new Headers(init.headers);
  if (body?.contentType !== undefined && !headers.has('content-type'))
    headers.set('content-type', body.contentType);
  const head = {
    url: String(input),
    method: String(init.method ?? 'GET').toUpperCase(),
    headers: [...headers],
    redirect: String(init.redirect ?? 'follow'),
  };
  if (init.signal?.aborted === true) throw init.signal.reason;
  const answerPromise = callHost('fetch', head, body && toBinary(body.bytes));
  const answer = await (init.signal
    ? Promise.race([answerPromise, rejectOnAbort(init.signal)])
    : answerPromise);
  const { url, redirected, ...responseInit } = answer.head as ResponseHead;
  return withUrl(new Response(fromBinary(answer.body), responseInit), url, redirected);
}

export { Headers, TextDecoder, TextEncoder };
