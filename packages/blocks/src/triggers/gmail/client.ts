import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import type { HttpClient } from '@heddle/engine';
import { parseJson } from '@heddle/core/fields';
import { feedError } from '../feed.ts';
import type { FeedContext } from '@heddle/engine/triggers';
import { sendPollRequest, statusError } from '../http.ts';
import { TRUNCATED_BYTES, MAX_MESSAGE_BYTES } from '../mail/message.ts';

const SERVICE = 'gmail';
const BASE_URL = 'https://gmail.googleapis.com';
const MAX_LIST_BYTES = 2 * 2 ** 20;
/** Maximum size of a response with a message: the message in Base64, and the JSON around it. */
const MAX_RAW_BYTES = Math.ceil(MAX_MESSAGE_BYTES * 1.4);
const PAGE_SIZE = 100;
/** Ids of messages, which become parts of paths. */
const MESSAGE_ID = /^[\w-]{1,128}$/;

/** Messages that were added, and the position after them. */
export interface Changes {
  ids: string[];
  historyId: string;
  /** True if there are further changes after the position. */
  hasMore: boolean;
}

/** A message as Gmail returns it. */
export interface GmailMessage {
  raw: Uint8Array;
  isTruncated: boolean;
  /** In ISO 8601. */
  receivedAt: string;
  threadId: string;
  labels: string[];
}

/** The calls to the Gmail API that a trigger makes, with one access token. */
export class GmailClient {
  readonly #context: FeedContext;
  readonly #http: HttpClient;
  readonly #apiUrl: string;
  readonly #token: string;

  private constructor(
    context: FeedContext,
    { http, apiUrl, token }: { http: HttpClient; apiUrl: string; token: string },
  ) {
    this.#context = context;
    this.#http = http;
    this.#apiUrl = apiUrl;
    this.#token = token;
  }

  /** Throws a BlockError if the credential cannot be used. */
  static async open(context: FeedContext, credential: string): Promise<GmailClient> {
    const { baseUrl = BASE_URL, http } = await context.service(SERVICE);
    const apiUrl = `${baseUrl.replace(/\/+$/, '')}/gmail/v1/users/me`;
    return new GmailClient(context, { http, apiUrl, token: await context.credential(credential) });
  }

  /** Returns the position after all existing messages. */
  async fetchHistoryId(): Promise<string> {
    const { historyId } = await this.#get('/profile');
    return historyIdOf(historyId);
  }

  /** Returns the ids of the newest messages that match the search, at most `limit`, the earliest first. */
  async listMessageIds({ q, limit }: { q: string; limit: number }): Promise<string[]> {
    const ids: string[] = [];
    let pageToken: string | undefined;
    do {
      const query = {
        q,
        maxResults: String(Math.min(PAGE_SIZE, limit)),
        ...(pageToken !== undefined && { pageToken }),
      };
      const { messages, nextPageToken } = await this.#get('/messages', query);
      ids.push(...idsOf(messages));
      pageToken = typeof nextPageToken === 'string' ? nextPageToken : undefined;
    } while (pageToken !== undefined && ids.length < limit);
    // Gmail returns the newest message first.
    return ids.slice(0, limit).toReversed();
  }

  /** Returns messages that were added after the position; undefined if Gmail no longer knows the position. */
  async changesSince(position: string, limit: number): Promise<Changes | undefined> {
    const ids = new Set<string>();
    let pageToken: string | undefined;
    let historyId = position;
    do {
      const query = { startHistoryId: position, historyTypes: 'messageAdded', maxResults: String(PAGE_SIZE) };
      const response = await this.#send('/history', {
        ...query,
        ...(pageToken !== undefined && { pageToken }),
      });
      if (response.status === 404) return undefined;
      const { history, nextPageToken, ...fields } = this.#bodyOf(response);
      for (const id of addedIdsIn(history)) ids.add(id);
      pageToken = typeof nextPageToken === 'string' ? nextPageToken : undefined;
      // `historyId` of a response is the position after all pages; the id of a change is the position after the change.
      historyId = historyIdOf(pageToken === undefined ? fields['historyId'] : lastIdOf(history));
    } while (pageToken !== undefined && ids.size < limit);
    return { ids: [...ids], historyId, hasMore: pageToken !== undefined };
  }

  /** Returns a message; undefined if it no longer exists. */
  async fetchMessage(id: string): Promise<GmailMessage | undefined> {
    const metadata = await this.#send(`/messages/${id}`, { format: 'minimal' });
    if (metadata.status === 404) return undefined;
    const { sizeEstimate, internalDate, labelIds, threadId } = this.#bodyOf(metadata);
    const isTruncated = Number(sizeEstimate) > MAX_MESSAGE_BYTES;
    const raw = isTruncated ? await this.#readBeginning(id) : await this.#readRaw(id);
    if (!raw) return undefined;
    const receivedAtMs = Number(internalDate);
    return {
      ...{ raw, isTruncated, threadId: typeof threadId === 'string' ? threadId : '' },
      receivedAt: new Date(
        Number.isFinite(receivedAtMs) && Math.abs(receivedAtMs) < 8.64e15 ? receivedAtMs : 0,
      ).toISOString(),
      labels: Array.isArray(labelIds) ? labelIds.map(String).slice(0, PAGE_SIZE) : [],
    };
  }

  async markRead(id: string): Promise<void> {
    const body = JSON.stringify({ removeLabelIds: ['UNREAD'] });
    const response = await this.#send(`/messages/${id}/modify`, {}, { method: 'POST', body });
    // Throws for a failure, except for 404: the message may have been removed.
    if (response.status !== 404) this.#bodyOf(response);
  }

  /** Returns a complete message; undefined if it no longer exists. */
  async #readRaw(id: string): Promise<Uint8Array | undefined> {
    const response = await this.#send(
      `/messages/${id}`,
      { format: 'raw' },
      { maxResponseBytes: MAX_RAW_BYTES },
    );
    if (response.status === 404) return undefined;
    const { raw } = this.#bodyOf(response);
    return Buffer.from(typeof raw === 'string' ? raw : '', 'base64url');
  }

  /** Returns the headers and the first words of a large message. */
  async #readBeginning(id: string): Promise<Uint8Array | undefined> {
    const response = await this.#send(`/messages/${id}`, { format: 'metadata' });
    if (response.status === 404) return undefined;
    const { payload, snippet } = this.#bodyOf(response);
    const headers = isJsonObject(payload ?? null) ? (payload as JsonObject)['headers'] : undefined;
    const lines = (Array.isArray(headers) ? headers : []).flatMap((header) =>
      isJsonObject(header) ? [`${toSingleLine(header['name'])}: ${toSingleLine(header['value'])}`] : [],
    );
    const otherHeaders = lines.filter((line) => !/^content-/i.test(line));
    const body = typeof snippet === 'string' ? snippet : '';
    const message = [...otherHeaders, 'Content-Type: text/plain; charset=utf-8', '', body].join('\r\n');
    return Buffer.from(message).subarray(0, TRUNCATED_BYTES);
  }

  async #get(path: string, query: { [name: string]: string } = {}): Promise<JsonObject> {
    return this.#bodyOf(await this.#send(path, query));
  }

  #send(
    path: string,
    query: { [name: string]: string },
    {
      method = 'GET',
      body,
      maxResponseBytes = MAX_LIST_BYTES,
    }: { method?: string; body?: string; maxResponseBytes?: number } = {},
  ): ReturnType<typeof sendPollRequest> {
    const search = new URLSearchParams(query).toString();
    const request = {
      ...{ url: `${this.#apiUrl}${path}${search === '' ? '' : `?${search}`}`, method, maxResponseBytes },
      headers: {
        Authorization: `Bearer ${this.#token}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body }),
      // A redirect could send the token to another server.
      redirect: 'error' as const,
    };
    return sendPollRequest(this.#http, request, this.#context);
  }

  /** Returns the object in the body of a response. Throws a BlockError for a failure. */
  #bodyOf(response: Awaited<ReturnType<typeof sendPollRequest>>): JsonObject {
    const { status, body } = response;
    if (status === 401 || status === 403)
      throw feedError(`Gmail refuses the credential (status ${status}): connect the account again.`);
    if (status < 200 || status > 299) throw statusError(response, 'Gmail', this.#context.nowMs);
    const value = parseJson(Buffer.from(body).toString()) ?? null;
    if (!isJsonObject(value)) throw feedError('Gmail did not answer with a JSON object.');
    return value;
  }
}

function idsOf(messages: Json | undefined): string[] {
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((message) => {
    const id = isJsonObject(message) ? message['id'] : undefined;
    return typeof id === 'string' && MESSAGE_ID.test(id) ? [id] : [];
  });
}

function addedIdsIn(history: Json | undefined): string[] {
  if (!Array.isArray(history)) return [];
  return history.flatMap((change) => {
    const addedMessages = isJsonObject(change) ? change['messagesAdded'] : undefined;
    return Array.isArray(addedMessages)
      ? idsOf(
          addedMessages.map((addedMessage) =>
            isJsonObject(addedMessage) ? (addedMessage['message'] ?? null) : null,
          ),
        )
      : [];
  });
}

function lastIdOf(history: Json | undefined): Json | undefined {
  const lastChange = Array.isArray(history) ? history.at(-1) : undefined;
  return isJsonObject(lastChange ?? null) ? (lastChange as JsonObject)['id'] : undefined;
}

function historyIdOf(value: Json | undefined): string {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text === 'string' && /^\d{1,30}$/.test(text)) return text;
  throw feedError('Gmail responded without a position in the history of the account.');
}

function toSingleLine(value: Json | undefined): string {
  return typeof value === 'string' ? value.replaceAll(/[\r\n]+/g, ' ') : '';
}
