import type { Json } from '@heddle/core';
import { isJsonObject, getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { Env } from './env.ts';
import { DEFAULT_URL } from './run-options.ts';
import type { RemoteOptions } from './run-options.ts';
import { UsageError } from './usage-error.ts';

const PAGE_SIZE = 100;
/** Maximum length of a search text that the API accepts. */
const MAX_SEARCH_CHARS = 200;

/** An error response of the server. */
export class RequestError extends UsageError {
  readonly status: number;
  /** The `details` of the error response; undefined if it has none. */
  readonly details: Json | undefined;

  constructor(
    status: number,
    { message, hint, details }: { message: string; hint?: string | undefined; details?: Json | undefined },
  ) {
    super(message, hint);
    this.name = 'RequestError';
    this.status = status;
    this.details = details;
  }
}

/** A client of a server's HTTP API. */
export class ApiClient {
  readonly url: string;
  readonly #key: string;
  readonly #workspace: string | undefined;

  /** Throws a usage error for a missing key or an invalid URL. */
  constructor({ url, workspace }: RemoteOptions, env: Env) {
    const envValue = (name: string): string | undefined => env.value(name)?.trim() || undefined;
    const baseUrl = url ?? envValue('HEDDLE_URL') ?? DEFAULT_URL;
    if (!/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl))
      throw new UsageError(`${baseUrl} is not the URL of a server.`, `Use a URL like ${DEFAULT_URL}.`);
    const key = envValue('HEDDLE_API_KEY');
    if (key === undefined) {
      throw new UsageError(
        'HEDDLE_API_KEY is not set. It must be an API key of the server.',
        'The first start of heddle serve prints a key; heddle keys create prints another one.',
      );
    }
    this.url = baseUrl.replace(/\/+$/, '');
    this.#key = key;
    this.#workspace = workspace ?? envValue('HEDDLE_WORKSPACE');
  }

  /** Throws a usage error if no workspace is set. */
  get workspaceId(): string {
    if (this.#workspace !== undefined) return this.#workspace;
    throw new UsageError(
      'HEDDLE_WORKSPACE is not set. It must be the id of a workspace of the server.',
      'heddle workspaces list, on the machine of the server, shows the ids.',
    );
  }

  /** Sends a request and returns the response. Throws a usage error for an error response or an unreachable server. */
  async call(method: string, path: string, body?: Json): Promise<JsonObject> {
    return readBody(await this.#send(method, path, body));
  }

  /**
   * Sends a request and yields the JSON objects of the response, one per line. The server sends lines even while
   * nothing happens, so that no proxy times out.
   */
  async *streamObjects(path: string, body: Json): AsyncGenerator<JsonObject> {
    const response = await this.#send('POST', path, body, 'application/x-ndjson');
    if (!response.ok || !response.body) {
      yield await readBody(response);
      return;
    }
    let partialLine = '';
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (partialLine + chunk).split('\n');
      partialLine = lines.pop() ?? '';
      for (const line of lines) yield parseObject(line);
    }
    if (partialLine !== '') yield parseObject(partialLine);
  }

  /** Yields the items of a list, page by page. `path` may have a query. */
  async *fetchItems(path: string): AsyncGenerator<JsonObject> {
    const separator = path.includes('?') ? '&' : '?';
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const cursorParam = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: JsonObject = await this.call('GET', `${path}${separator}limit=${PAGE_SIZE}${cursorParam}`);
      const items = getOwn(page, 'data');
      for (const item of Array.isArray(items) ? items : []) if (isJsonObject(item)) yield item;
      const next = getOwn(page, 'nextCursor');
      cursor = typeof next === 'string' ? next : undefined;
    }
  }

  /** Returns all items of a list of the workspace. Adds the workspace's id to the query of `path`. */
  async fetchWorkspaceItems(path: string): Promise<JsonObject[]> {
    const items: JsonObject[] = [];
    const separator = path.includes('?') ? '&' : '?';
    const workspace = encodeURIComponent(this.workspaceId);
    for await (const item of this.fetchItems(`${path}${separator}workspaceId=${workspace}`)) items.push(item);
    return items;
  }

  /** Returns the first items of a list, at most `limit`. */
  async fetchFirstItems(path: string, limit: number): Promise<JsonObject[]> {
    const items: JsonObject[] = [];
    for await (const item of this.fetchItems(path)) {
      items.push(item);
      if (items.length >= limit) break;
    }
    return items;
  }

  /** Returns the id of the workflow with this name; undefined if the workspace has none. */
  async findWorkflowId(name: string): Promise<string | undefined> {
    const search = encodeURIComponent(name.slice(0, MAX_SEARCH_CHARS));
    const workspace = encodeURIComponent(this.workspaceId);
    const listPath = `/api/v2/workflows?workspaceId=${workspace}&search=${search}`;
    for await (const item of this.fetchItems(listPath))
      if (getOwn(item, 'name') === name) return stringAt(item, 'id');
    return undefined;
  }

  async #send(method: string, path: string, body?: Json, accept = 'application/json'): Promise<Response> {
    try {
      return await fetch(this.url + path, {
        method,
        // A redirect would send the key to another server.
        redirect: 'error',
        headers: {
          'X-API-Key': this.#key,
          Accept: accept,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    } catch (error) {
      const { message, cause } = error as Error;
      const reason =
        cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : message;
      throw new UsageError(
        `The server ${this.url} cannot be reached: ${reason}.`,
        'Start one with heddle serve, or set another one with --url or HEDDLE_URL.',
      );
    }
  }
}

const HINTS: { [status: number]: string | undefined } = {
  401: 'HEDDLE_API_KEY is not a valid key of this server. Create one on its machine: heddle keys create.',
  403: 'Use a personal key with the required role: heddle keys create.',
};

/** Returns the body of a response. Throws a usage error for an error response. */
async function readBody(response: Response): Promise<JsonObject> {
  const text = await response.text();
  const body = parseObject(text);
  if (response.ok) return body;
  const error = getOwn(body, 'error');
  const message = isJsonObject(error) ? stringAt(error, 'message') : '';
  const reason = message === '' ? `status ${response.status}` : message;
  throw new RequestError(response.status, {
    message: `The server rejected the request: ${reason}`,
    hint: HINTS[response.status],
    details: isJsonObject(error) ? getOwn(error, 'details') : undefined,
  });
}

function parseObject(text: string): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    value = null;
  }
  if (isJsonObject(value)) return value;
  throw new UsageError(
    'The server at this URL is not a Heddle server.',
    'Set another one with --url or HEDDLE_URL.',
  );
}

/** Returns the string at `key`; empty if there is none. */
export function stringAt(object: JsonObject, key: string): string {
  const value = getOwn(object, key);
  return typeof value === 'string' ? value : '';
}

/** Returns the object in the `data` of a response. */
export function dataOf(response: JsonObject): JsonObject {
  const data = getOwn(response, 'data');
  return isJsonObject(data) ? data : {};
}
