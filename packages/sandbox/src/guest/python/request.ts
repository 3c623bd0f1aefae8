import { define } from '../primordials.ts';

interface RequestInit {
  readonly method?: unknown;
  readonly signal?: unknown;
}

/** As much of a Request as Pyodide's pyfetch makes: its address; the rest it gives to fetch as well. */
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
