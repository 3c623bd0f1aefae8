import createClient from 'openapi-fetch';
import type { paths } from './schema.ts';

/** The base path of the HTTP API, without a trailing slash. The server writes it into the page. */
export const BASE_PATH = new URL(document.baseURI).pathname.replace(/\/$/, '');

/** Headers that tell the server that a request comes from a page of the Studio. */
export const HEADERS = { 'X-Heddle-Studio': '1' };

const client = createClient<paths>({ baseUrl: location.origin + BASE_PATH, headers: HEADERS });

/** A refused or failed request. */
export class RequestError extends Error {
  /** The HTTP status; 0 if the server could not be reached. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Returns whether a request failed because the user has no permission. */
export function isForbidden(error: Error | null): boolean {
  return error instanceof RequestError && error.status === 403;
}

interface ClientResponse<Data> {
  data?: Data;
  error?: unknown;
  response: Response;
}

/** Returns the data of a response. Throws a RequestError with the server's message for a failed request. */
export async function dataOf<Data>(request: Promise<ClientResponse<Data>>): Promise<Exclude<Data, string>> {
  const { data, error, response } = await request.catch((cause: unknown) => {
    throw new RequestError(0, `The server cannot be reached: ${String(cause)}`);
  });
  if (response.ok && data !== undefined) return data as Exclude<Data, string>;
  throw new RequestError(
    response.status,
    messageIn(error) ?? `The server responded with the status ${response.status}.`,
  );
}

function messageIn(error: unknown): string | undefined {
  const detail = typeof error === 'object' && error !== null && 'error' in error ? error.error : undefined;
  if (typeof detail === 'string') return detail;
  if (typeof detail !== 'object' || detail === null || !('message' in detail)) return undefined;
  return typeof detail.message === 'string' ? detail.message : undefined;
}

export { client };
