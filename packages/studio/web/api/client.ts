import createClient from 'openapi-fetch';
import type { paths } from './schema.ts';

/** The base path of the interface, without a slash at its end. The server writes it into the page. */
export const BASE = new URL(document.baseURI).pathname.replace(/\/$/, '');

/** Shows the server that a request comes from its own page. */
export const HEADERS = { 'X-Heddle-Studio': '1' };

const client = createClient<paths>({ baseUrl: location.origin + BASE, headers: HEADERS });

/** A refused or failed request. */
export class RequestError extends Error {
  /** The HTTP status; 0 if the server could not be reached. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** True for a request that the reader may not make. */
export function isForbidden(error: Error | null): boolean {
  return error instanceof RequestError && error.status === 403;
}

interface Answer<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** Returns the data of a response. Throws a RequestError with the message of the server. */
export async function dataOf<Data>(request: Promise<Answer<Data>>): Promise<Exclude<Data, string>> {
  const { data, error, response } = await request.catch((cause: unknown) => {
    throw new RequestError(0, `The server cannot be reached: ${String(cause)}`);
  });
  if (response.ok && data !== undefined) return data as Exclude<Data, string>;
  throw new RequestError(response.status, messageIn(error) ?? `The server answered ${response.status}.`);
}

function messageIn(error: unknown): string | undefined {
  const inner = typeof error === 'object' && error !== null && 'error' in error ? error.error : undefined;
  if (typeof inner === 'string') return inner;
  if (typeof inner !== 'object' || inner === null || !('message' in inner)) return undefined;
  return typeof inner.message === 'string' ? inner.message : undefined;
}

export { client };
