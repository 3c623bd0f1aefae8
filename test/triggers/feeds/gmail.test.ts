import type { JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { GMAIL_TOKEN, startGmailServer } from './gmail-server.ts';
import type { GmailServer } from './gmail-server.ts';
import { findFeedType, FeedSource, subjectsOf } from './source.ts';
import type { SourceOptions } from './source.ts';

function createGmailSource(
  { url }: GmailServer,
  fields: JsonObject = {},
  options: SourceOptions = {},
): FeedSource {
  return new FeedSource(
    'gmail',
    { triggerCredentials: 'c1', ...fields },
    { credentials: { c1: GMAIL_TOKEN }, services: { gmail: url }, ...options },
  );
}

const NOW_MS = Date.UTC(2026, 0, 1);

describe('a Gmail account', () => {
  it('starts runs for messages that arrive after the first poll, and continues from a position in its history', async () => {
    const server = await startGmailServer();
    server.deliver('old');
    const source = createGmailSource(server);
    expect(subjectsOf(await source.poll())).toEqual([]);
    expect(source.cursor).toMatchObject({ historyId: '101' });
    server.deliver('one');
    server.deliver('own', { labels: ['SENT'] });
    server.deliver('two');
    expect(subjectsOf(await source.poll())).toEqual(['one', 'two']);
    expect(source.cursor).toMatchObject({ historyId: '104' });
    const requestCount = server.requests.length;
    expect(subjectsOf(await source.poll())).toEqual([]);
    expect(server.requests.slice(requestCount).map(({ path }) => path)).toEqual([
      '/gmail/v1/users/me/history?startHistoryId=104&historyTypes=messageAdded&maxResults=100',
    ]);
  });

  it('outputs the parts of a message, and marks it as read when its run has been accepted', async () => {
    const server = await startGmailServer();
    const source = createGmailSource(server, { markAsRead: true });
    await source.poll();
    const id = server.deliver('one', { receivedMs: NOW_MS + 1000 });
    const { items } = await source.poll();
    expect(items[0]).toMatchObject({
      id,
      input: {
        email: {
          ...{ id, threadId: `t${id}`, labels: ['INBOX', 'UNREAD'], subject: 'one', from: 'bob@example.com' },
          receivedAt: '2026-01-01T00:00:01.000Z',
        },
      },
    });
    expect(server.labelsOf(id)).toContain('UNREAD');
    await source.acknowledge([id]);
    expect(server.labelsOf(id)).toEqual(['INBOX']);
  });

  it('finds the messages since the last poll even if the server no longer knows the history position', async () => {
    const server = await startGmailServer();
    const source = createGmailSource(server);
    server.deliver('old', { receivedMs: NOW_MS });
    await source.poll();
    source.nowMs = NOW_MS + 3_600_000;
    server.deliver('missed', { receivedMs: NOW_MS + 1_800_000 });
    server.forgetHistoryBefore(server.latestHistoryId());
    expect(subjectsOf(await source.poll())).toEqual(['missed']);
    server.deliver('next', { receivedMs: source.nowMs });
    expect(subjectsOf(await source.poll())).toEqual(['next']);
  });

  it('finds messages by a query, including messages that the search returns late', async () => {
    const server = await startGmailServer();
    const source = createGmailSource(server, { searchQuery: 'from:bob' });
    server.deliver('old', { receivedMs: NOW_MS - 60_000 });
    await source.poll();
    expect(source.cursor).not.toHaveProperty('historyId');
    source.nowMs = NOW_MS + 600_000;
    server.deliver('late', { receivedMs: NOW_MS - 120_000 });
    server.deliver('new', { receivedMs: NOW_MS + 300_000 });
    expect(subjectsOf(await source.poll())).toEqual(['late', 'new']);
    expect(subjectsOf(await source.poll())).toEqual([]);
    const queries = server.requests.flatMap(
      ({ path }) => new URL(path, server.url).searchParams.get('q') ?? [],
    );
    expect(queries.every((query) => query.startsWith('(from:bob)'))).toBe(true);
  });

  it.each([
    ['INCLUDE', ['work']],
    ['EXCLUDE', ['home']],
  ])('selects messages by labels: %s', async (labelFilterBehavior, expected) => {
    const server = await startGmailServer();
    const source = createGmailSource(server, { labelIds: 'Label_1', labelFilterBehavior });
    await source.poll();
    server.deliver('work', { labels: ['INBOX', 'Label_1'] });
    server.deliver('home', { labels: ['INBOX'] });
    expect(subjectsOf(await source.poll())).toEqual(expected);
  });

  it('begins with as many old messages as `backfill` sets, and reads long histories in several polls', async () => {
    const server = await startGmailServer();
    for (const name of ['a', 'b', 'c', 'd']) server.deliver(name, { receivedMs: NOW_MS - 86_400_000 });
    const source = createGmailSource(server, { backfill: 3 }, { limit: 2 });
    expect(subjectsOf(await source.poll())).toEqual(['b', 'c']);
    expect(subjectsOf(await source.poll())).toEqual(['d']);
    for (let index = 0; index < 5; index += 1) server.deliver(String(index));
    const receivedSubjects: unknown[] = [];
    for (let hasMore = true; hasMore;) {
      const result = await source.poll();
      receivedSubjects.push(...subjectsOf(result));
      ({ hasMore } = result);
    }
    expect(receivedSubjects).toEqual(['0', '1', '2', '3', '4']);
  });

  it('outputs the headers and the snippet of a message that is too large', async () => {
    const server = await startGmailServer();
    const source = createGmailSource(server);
    await source.poll();
    server.deliver('large', { raw: `Subject: large\r\n\r\n${'x'.repeat(11 * 2 ** 20)}` });
    const [item] = (await source.poll()).items;
    expect(item?.input['email']).toMatchObject({
      subject: 'large',
      bodyText: 'The beginning\n',
      truncated: true,
    });
  });

  it('does not show the token or the body of an error response in its error', async () => {
    const server = await startGmailServer();
    const source = createGmailSource(server);
    server.status = 403;
    const failure = (await source.poll().catch((error: Error) => error)) as Error;
    expect(failure.message).toBe('Gmail refuses the credential (status 403): connect the account again.');
    server.status = 500;
    await expect(source.poll()).rejects.toThrow('Gmail responded with the status 500.');
  });

  it('needs a stored credential', () => {
    expect(findFeedType('gmail_v2').parseConfig({})).toMatchObject({
      problems: [{ field: 'triggerCredentials' }],
    });
  });
});
