import { createMessageText } from '../../support/imap-server.ts';
import { startWebServer } from './source.ts';
import type { WebServer } from './source.ts';

interface StoredMessage {
  id: string;
  raw: string;
  labels: string[];
  receivedMs: number;
  historyId: number;
}

/** A simulation of the operations of Gmail's API that the trigger uses. */
export interface GmailServer extends WebServer {
  deliver(subject: string, properties?: { labels?: string[]; receivedMs?: number; raw?: string }): string;
  /** Makes the server reject history ids before this one. */
  forgetHistoryBefore(historyId: number): void;
  /** Returns the id of the latest change of the mailbox. */
  latestHistoryId(): number;
  labelsOf(id: string): readonly string[];
  /** If it is not 200, all responses are failures with this status. */
  status: number;
}

export const GMAIL_TOKEN = 'token-of-the-loom-0815';

/** Starts the simulation. It stops when the test ends. */
export async function startGmailServer(): Promise<GmailServer> {
  const messages: StoredMessage[] = [];
  let [lastHistoryId, oldestHistoryId] = [100, 0];
  type Respond = (status: number, body: unknown) => void;
  const listChanges = (url: URL, respond: Respond): void => {
    const startHistoryId = Number(url.searchParams.get('startHistoryId'));
    if (startHistoryId < oldestHistoryId) return respond(404, { error: {} });
    const addedMessages = messages.filter((message) => message.historyId > startHistoryId);
    const { page, nextPageFields } = pageOf(addedMessages, url);
    const entries = page.map(({ id, historyId }) => ({
      id: String(historyId),
      messagesAdded: [{ message: { id } }],
    }));
    return respond(200, { history: entries, historyId: String(lastHistoryId), ...nextPageFields });
  };
  const listMessages = (url: URL, respond: Respond): void => {
    const query = url.searchParams.get('q') ?? '';
    const afterMs = Number(/after:(\d+)/.exec(query)?.[1] ?? 0) * 1000;
    const sender = /from:(\w+)/.exec(query)?.[1] ?? '';
    const matches = messages
      .filter(({ raw, receivedMs }) => receivedMs >= afterMs && raw.includes(sender))
      .toReversed();
    const { page, nextPageFields } = pageOf(matches, url);
    return respond(200, { messages: page.map(({ id }) => ({ id })), ...nextPageFields });
  };
  const handleMessageRequest = (path: string, url: URL, respond: Respond): void => {
    const [, id, action] = /^\/messages\/(\w+)(\/modify)?$/.exec(path) ?? [];
    const message = messages.find((candidate) => candidate.id === id);
    if (!message) return respond(404, { error: {} });
    if (action) message.labels = message.labels.filter((label) => label !== 'UNREAD');
    const { raw, labels, receivedMs } = message;
    const metadata = {
      id,
      threadId: `t${id}`,
      labelIds: labels,
      internalDate: String(receivedMs),
      sizeEstimate: raw.length,
    };
    const isRaw = url.searchParams.get('format') === 'raw';
    const payload = { headers: [{ name: 'Subject', value: /^Subject: (.*)$/m.exec(raw)?.[1] ?? '' }] };
    return respond(200, {
      ...metadata,
      payload,
      snippet: 'The beginning',
      ...(isRaw && { raw: Buffer.from(raw).toString('base64url') }),
    });
  };
  const server = await startWebServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://gmail.test');
    const respond = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (request.headers.authorization !== `Bearer ${GMAIL_TOKEN}`) return respond(401, { error: {} });
    if (gmail.status !== 200) return respond(gmail.status, { error: { message: GMAIL_TOKEN } });
    const path = url.pathname.replace('/gmail/v1/users/me', '');
    if (path === '/profile') return respond(200, { historyId: String(lastHistoryId) });
    if (path === '/history') return listChanges(url, respond);
    if (path === '/messages') return listMessages(url, respond);
    return handleMessageRequest(path, url, respond);
  });
  const gmail: GmailServer = {
    ...server,
    status: 200,
    deliver(subject, { labels = ['INBOX', 'UNREAD'], receivedMs = Date.UTC(2026, 0, 1), raw } = {}) {
      lastHistoryId += 1;
      const id = `m${messages.length + 1}`;
      const text = raw ?? createMessageText({ subject, from: 'bob@example.com', id: `<${id}>` });
      messages.push({ id, raw: text, labels, receivedMs, historyId: lastHistoryId });
      return id;
    },
    forgetHistoryBefore: (historyId) => (oldestHistoryId = historyId),
    latestHistoryId: () => lastHistoryId,
    labelsOf: (id) => messages.find((message) => message.id === id)?.labels ?? [],
  };
  return gmail;
}

function pageOf<Item>(
  items: readonly Item[],
  { searchParams }: URL,
): { page: Item[]; nextPageFields: object } {
  const start = Number(searchParams.get('pageToken') ?? 0);
  const end = start + Number(searchParams.get('maxResults') ?? 100);
  return {
    page: items.slice(start, end),
    nextPageFields: end < items.length ? { nextPageToken: String(end) } : {},
  };
}
