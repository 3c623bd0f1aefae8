import { define } from '../primordials.ts';
import { bytesOf, fromBinary, toBinary } from '../web/bytes.ts';
import { encode } from '../web/encoding.ts';
import { bridge, readAnswer } from './bridge.ts';

interface RequestInit {
  readonly method?: unknown;
  readonly signal?: unknown;
}

/** A minimal Request for Pyodide's pyfetch, which reads only the URL and passes the other options to fetch directly. */
class Request {
  readonly url: string;
  readonly method: string;
  readonly signal: unknown;

  constructor(url: unknown, init: RequestInit = {}) {
    this.url = String(url);
    this.method = String(init.method ?? 'GET').toUpperCase();
    this.signal = init.signal;
  }

  toString(): string {
    return this.url;
  }
}

/** Installs Request. */
export function installRequest(): void {
  define(globalThis, 'Request', Request);
}

interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly url: string;
  readonly headers: [string, string][];
}

const toBinaryBody = (body: unknown): string =>
  toBinary(typeof body === 'string' ? encode(body) : bytesOf(body, 'The body'));

/** The synchronous part of XMLHttpRequest, which Python's HTTP libraries use where there are no sockets. */
class SynchronousRequest {
  status = 0;
  statusText = '';
  responseURL = '';
  responseType = '';
  response: unknown = null;
  readyState = 0;
  timeout = 0;
  withCredentials = false;
  #method = 'GET';
  #url = '';
  readonly #headers: [string, string][] = [];
  #responseHeaders: [string, string][] = [];

  open(method: string, url: string, async: unknown = true): void {
    if (async === true) throw new Error('XMLHttpRequest is synchronous here; use fetch');
    this.#method = String(method).toUpperCase();
    this.#url = String(url);
    this.readyState = 1;
  }

  setRequestHeader(name: string, value: string): void {
    this.#headers.push([String(name), String(value)]);
  }

  overrideMimeType(): void {}

  send(body: unknown = null): void {
    const head = { url: this.#url, method: this.#method, headers: this.#headers, redirect: 'follow' };
    const answer = readAnswer(
      bridge.call(
        'fetch',
        JSON.stringify(head),
        body === null || body === undefined ? null : toBinaryBody(body),
      ),
    );
    if (!answer.ok) {
      const error = new Error((JSON.parse(answer.head) as { message: string }).message);
      error.name = 'NetworkError';
      throw error;
    }
    const response = JSON.parse(answer.head) as ResponseHead;
    this.status = response.status;
    this.statusText = response.statusText;
    this.responseURL = response.url;
    this.#responseHeaders = response.headers;
    this.readyState = 4;
    this.response = this.responseType === 'arraybuffer' ? fromBinary(answer.body).buffer : answer.body;
  }

  get responseText(): unknown {
    return this.response;
  }

  getAllResponseHeaders(): string {
    return this.#responseHeaders.map(([name, value]) => name + ': ' + value + '\r\n').join('');
  }

  getResponseHeader(name: string): string | null {
    const key = String(name).toLowerCase();
    return this.#responseHeaders.find(([headerName]) => headerName.toLowerCase() === key)?.[1] ?? null;
  }
}

/** Installs XMLHttpRequest. */
export function installXhr(): void {
  define(globalThis, 'XMLHttpRequest', SynchronousRequest);
}
