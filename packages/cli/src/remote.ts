import type { Json } from '@heddle/core';
import { isJsonObject, own } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { Env } from './env.ts';
import { DEFAULT_URL } from './remote-options.ts';
import type { RemoteOptions } from './remote-options.ts';
import { UsageError } from './usage-error.ts';

const PAGE = 100;
/** As long as the interface takes them. */
const MOST_SEARCH_CHARS = 200;

/** A refusal of the server. */
export class Refused extends UsageError {
  readonly status: number;

  constructor(status: number, message: string, hint: string | undefined) {
    super(message, hint);
    this.name = 'Refused';
    this.status = status;
  }
}

/** The HTTP interface of a server, as the owner of a key. */
export class Remote {
  readonly url: string;
  readonly #key: string;
  readonly #workspace: string | undefined;

  /** Throws a usage error for a missing key, and for an address that is none. */
  constructor({ url, workspace }: RemoteOptions, env: Env) {
    const value = (name: string): string | undefined => env.value(name)?.trim() || undefined;
    const given = url ?? value('HEDDLE_URL') ?? DEFAULT_URL;
    if (!/^https?:\/\//.test(given) || !URL.canParse(given))
      throw new UsageError(`${given} is no address of a server.`, `Write it like ${DEFAULT_URL}.`);
    const key = value('HEDDLE_API_KEY');
    if (key === undefined) {
      throw new UsageError(
        'HEDDLE_API_KEY is not set: the key to call the server with.',
        'The first start of heddle serve prints one; heddle keys create makes another.',
      );
    }
    this.url = given.replace(/\/+$/, '');
    this.#key = key;
    this.#workspace = workspace ?? value('HEDDLE_WORKSPACE');
  }

  /** Throws a usage error where no workspace was named. */
  get workspaceId(): string {
    if (this.#workspace !== undefined) return this.#workspace;
    throw new UsageError(
      'HEDDLE_WORKSPACE is not set: the id of the workspace that has the workflow.',
      'Where the server runs, heddle workspaces list shows them.',
    );
  }

  /** The answer to a call. Throws a usage error where the server refuses it, or cannot be reached. */
  async call(method: string, path: string, body?: Json): Promise<JsonObject> {
    return read(await this.#send(method, path, body));
  }

  /** The objects of an answer that comes line by line, also while nothing happens: no proxy gives up waiting. */
  async *lines(path: string, body: Json): AsyncGenerator<JsonObject> {
    const response = await this.#send('POST', path, body, 'application/x-ndjson');
    if (!response.ok || !response.body) {
      yield await read(response);
      return;
    }
    let rest = '';
    for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + piece).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) yield parse(line);
    }
  }

  /** The id of the workflow with this name, or this id; undefined where the workspace has none. */
  async find(name: string): Promise<string | undefined> {
    const search = encodeURIComponent(name.slice(0, MOST_SEARCH_CHARS));
    const list = `/api/v2/workflows?workspaceId=${encodeURIComponent(this.workspaceId)}&limit=${PAGE}&search=${search}`;
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const more = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const page: JsonObject = await this.call('GET', list + more);
      const rows = own(page, 'data');
      const found = (Array.isArray(rows) ? rows : []).find(
        (row) => isJsonObject(row) && own(row, 'name') === name,
      );
      if (isJsonObject(found)) return textOf(found, 'id');
      const next = own(page, 'nextCursor');
      cursor = typeof next === 'string' ? next : undefined;
    }
    return undefined;
  }

  async #send(method: string, path: string, body?: Json, accept = 'application/json'): Promise<Response> {
    try {
      return await fetch(this.url + path, {
        method,
        // The key is for this server alone.
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
        'Start one with heddle serve, or name another one: --url URL or HEDDLE_URL.',
      );
    }
  }
}

const HINTS: { [status: number]: string | undefined } = {
  401: 'HEDDLE_API_KEY is no key of this server, or was revoked: heddle keys create makes one there.',
  403: 'Use the key of a person with the role for it: heddle keys create.',
};

/** The body of an answer. Throws a usage error for a refusal. */
async function read(response: Response): Promise<JsonObject> {
  const text = await response.text();
  const body = parse(text);
  if (response.ok) return body;
  const error = own(body, 'error');
  const message = isJsonObject(error) ? textOf(error, 'message') : '';
  const said = message === '' ? `it answered with ${response.status}` : message;
  throw new Refused(response.status, `The server refuses it: ${said}`, HINTS[response.status]);
}

function parse(text: string): JsonObject {
  let value: Json;
  try {
    value = JSON.parse(text) as Json;
  } catch {
    value = null;
  }
  if (isJsonObject(value)) return value;
  throw new UsageError(
    'What answers at this address is no server of Heddle.',
    'Name another one: --url URL or HEDDLE_URL.',
  );
}

/** The text at `key`; empty where there is none. */
export function textOf(object: JsonObject, key: string): string {
  const value = own(object, key);
  return typeof value === 'string' ? value : '';
}

/** The object in the `data` of an answer. */
export function dataOf(answer: JsonObject): JsonObject {
  const data = own(answer, 'data');
  return isJsonObject(data) ? data : {};
}
