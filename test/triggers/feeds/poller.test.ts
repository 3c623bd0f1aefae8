import type { JsonObject } from '@heddle/core';
import { storeCredential, storedCredentials } from '@heddle/service/credentials';
import { parseKeys, openServiceStore, Sealer } from '@heddle/service';
import { describe, expect, it } from 'vitest';
import { IMAP_PASSWORD, IMAP_USER, startImapServer } from '../../support/imap-server.ts';
import { storesToTest } from '../../support/postgres.ts';
import { GMAIL_TOKEN, startGmailServer } from './gmail-server.ts';
import { openFeedApi, startNewsFeed } from './setup.ts';
import type { FeedApi } from './setup.ts';
import { startWebServer } from './source.ts';

const titlesOf = (inputs: readonly JsonObject[]): unknown[] => inputs.map(({ title }) => title);

/** Waits until the workflow has one run for each of these titles. */
async function expectTitles(api: FeedApi, id: string, titles: readonly string[]): Promise<void> {
  const readTitles = async (): Promise<Set<unknown>> => new Set(titlesOf(await api.listInputs(id)));
  await expect.poll(readTitles).toEqual(new Set(titles));
  expect(await api.listInputs(id)).toHaveLength(titles.length);
}

describe.each(storesToTest('feeds'))('the poller on %s', (kind) => {
  it('starts one run for each new item, with the item as its input', async () => {
    const api = await openFeedApi(kind);
    const news = await startNewsFeed();
    news.items = [{ id: 'old' }];
    const id = await api.deployFeed('rss', { feedUrl: news.url, pollMinutes: 1 });
    await api.waitForPoll(id);
    news.items.unshift({ id: 'b' }, { id: 'a' });
    api.advanceTo('2026-01-01T00:01:00Z');
    await expectTitles(api, id, ['a', 'b']);
    api.advanceTo('2026-01-01T00:02:00Z');
    await api.waitForPoll(id);
    expect(await api.listInputs(id)).toHaveLength(2);
    expect(await api.readTrigger(id)).toMatchObject({
      ...{ type: 'rss', state: 'active', nextDueAt: '2026-01-01T00:03:00.000Z' },
      health: { lastEventAt: '2026-01-01T00:01:00.000Z', lastError: null, failures: 0 },
    });
    const { data } = await api.call<{ warnings: string[]; latestDeploymentAttempt: { readiness: object } }>(
      'GET',
      `/api/v2/workflows/${id}/deployment`,
    );
    expect(data).toMatchObject({
      warnings: [],
      latestDeploymentAttempt: { readiness: { webhooks: 'ready' } },
    });
  });

  it('polls a source in only one of several processes at a time', async () => {
    const api = await openFeedApi(kind);
    const store = api.store;
    const otherApi = await openFeedApi(kind, { store });
    const news = await startNewsFeed();
    const id = await api.deployFeed('rss', { feedUrl: news.url, pollMinutes: 1 });
    await api.waitForPoll(id);
    const { promise, resolve } = Promise.withResolvers<void>();
    news.respondAfter = promise;
    news.items.unshift({ id: 'a' });
    const requestCount = news.requests.length;
    for (const testApi of [api, otherApi]) testApi.advanceTo('2026-01-01T00:01:00Z');
    await expect.poll(() => news.requests.length).toBe(requestCount + 1);
    for (const testApi of [api, otherApi]) testApi.advanceTo('2026-01-01T00:02:00Z');
    resolve();
    // The process that has polled the source starts the runs of its items.
    const countStartedItems = async () =>
      (await api.feedDb.selectFrom('feed_items').select('run_id').where('run_id', 'is not', null).execute())
        .length;
    await expect.poll(countStartedItems).toBe(1);
    expect(news.requests.length).toBe(requestCount + 1);
  });
});

describe('a feed', () => {
  it('starts exactly one run for each item when a new version is deployed, even during a poll', async () => {
    const api = await openFeedApi('sqlite');
    const news = await startNewsFeed();
    const id = await api.deployFeed('rss', { feedUrl: news.url, pollMinutes: 1 });
    await api.waitForPoll(id);
    const { promise, resolve } = Promise.withResolvers<void>();
    news.respondAfter = promise;
    news.items.unshift({ id: 'a' });
    const requestCount = news.requests.length;
    api.advanceTo('2026-01-01T00:01:00Z');
    await expect.poll(() => news.requests.length).toBe(requestCount + 1);
    expect((await api.call('POST', `/api/v2/workflows/${id}/deploy`)).status).toBe(200);
    resolve();
    await expectTitles(api, id, ['a']);
    api.advanceTo('2026-01-01T00:10:00Z');
    await api.waitForPoll(id);
    expect(await api.listInputs(id)).toHaveLength(1);
  });

  it('begins like a new feed after its workflow was undeployed and deployed again', async () => {
    const api = await openFeedApi('sqlite');
    const news = await startNewsFeed();
    const id = await api.deployFeed('rss', { feedUrl: news.url, pollMinutes: 1, backfill: 1 });
    await api.waitForPoll(id);
    expect((await api.call('DELETE', `/api/v2/workflows/${id}/deploy`)).status).toBe(200);
    news.items.unshift({ id: 'b' }, { id: 'a' });
    api.advanceTo('2026-01-01T00:10:00Z');
    expect((await api.call('POST', `/api/v2/workflows/${id}/deploy`)).status).toBe(200);
    await expectTitles(api, id, ['b']);
  });

  it('remembers 10,000 items, including those that the source still has', async () => {
    const api = await openFeedApi('sqlite');
    const news = await startNewsFeed();
    news.items = [{ id: 'kept' }, { id: 'kept too' }];
    const id = await api.deployFeed('rss', { feedUrl: news.url, pollMinutes: 1 });
    await api.waitForPoll(id);
    const selectItems = () => api.feedDb.selectFrom('feed_items').where('workflow_id', '=', id);
    const [knownItem] = await selectItems().selectAll().execute();
    const { block_id = '' } = knownItem ?? {};
    await api.feedDb.updateTable('feed_items').set({ seen_ms: 0 }).execute();
    const numbers = Array.from({ length: 10_000 }, (_, number) => number + 1);
    while (numbers.length > 0)
      await api.feedDb
        .insertInto('feed_items')
        .values(
          numbers
            .splice(0, 1000)
            .map((seen_ms) => ({ workflow_id: id, block_id, item: `${seen_ms}`, run_id: null, seen_ms })),
        )
        .execute();
    news.items.unshift({ id: 'new' });
    api.advanceTo('2026-01-01T00:10:00Z');
    await expectTitles(api, id, ['new']);
    await api.waitForPoll(id);
    const { count, oldest } = await selectItems()
      .select(({ fn }) => [fn.countAll().as('count'), fn.min('seen_ms').as('oldest')])
      .executeTakeFirstOrThrow();
    expect({ count, oldest }).toEqual({ count: 10_000, oldest: 4 });
    api.advanceTo('2026-01-01T00:11:00Z');
    await api.waitForPoll(id);
    await expectTitles(api, id, ['new']);
  });

  it('continues from its position after a pause', async () => {
    const api = await openFeedApi('sqlite');
    const news = await startNewsFeed();
    const id = await api.deployFeed('rss', { feedUrl: news.url, pollMinutes: 1 });
    await api.waitForPoll(id);
    const { data } = await api.call<{ id: string }[]>(
      'GET',
      `/api/v2/triggers?workspaceId=${api.workspaceId}&type=rss`,
    );
    const triggerPath = `/api/v2/triggers/${data[0]?.id}`;
    await api.call('POST', `${triggerPath}/pause`);
    news.items.unshift({ id: 'a' });
    const requestCount = news.requests.length;
    api.advanceTo('2026-01-01T00:05:00Z');
    expect(await api.readTrigger(id)).toMatchObject({ state: 'paused', nextDueAt: null });
    expect(news.requests.length).toBe(requestCount);
    await api.call('POST', `${triggerPath}/resume`);
    await expectTitles(api, id, ['a']);
    expect((await api.call('POST', `${triggerPath}/run`)).status).toBe(409);
  });

  it('is polled with exponential backoff after failures, and is suspended after a day of failures', async () => {
    const api = await openFeedApi('sqlite');
    const news = await startNewsFeed();
    news.status = 500;
    const id = await api.deployFeed('rss', { feedUrl: `${news.url}/?key={{KEY}}`, pollMinutes: 10 });
    const delaysMs: number[] = [];
    for (let index = 0; index < 5; index += 1) {
      await expect.poll(async () => (await api.readTrigger(id)).health.failures).toBe(index + 1);
      const { nextDueAt } = await api.readTrigger(id);
      delaysMs.push(Date.parse(nextDueAt ?? '') - api.now());
      api.advanceTo(nextDueAt ?? '');
    }
    expect(delaysMs.map((ms) => ms / 60_000)).toEqual([10, 20, 40, 60, 60]);
    for (let failures = 6; failures <= 30; failures += 1) {
      await expect
        .poll(async () => (await api.readTrigger(id)).health.failures)
        .toBeGreaterThanOrEqual(failures);
      const { state, nextDueAt } = await api.readTrigger(id);
      if (state === 'suspended') break;
      api.advanceTo(nextDueAt ?? '');
    }
    const suspendedTrigger = await api.readTrigger(id);
    expect(suspendedTrigger).toMatchObject({ state: 'suspended', nextDueAt: null });
    expect(suspendedTrigger.health.lastError).toBe(
      'A {{NAME}} in a field of the trigger has no value in the workspace.',
    );
    const { data } = await api.call<{ warnings: string[] }>('GET', `/api/v2/workflows/${id}/deployment`);
    expect(data.warnings).toEqual([expect.stringContaining('is suspended')]);
  });

  it('connects only to public addresses, unless the operator allows further addresses', async () => {
    const api = await openFeedApi('sqlite', { feeds: { egress: { ports: 'any' } } });
    const news = await startNewsFeed();
    const id = await api.deployFeed('rss', { feedUrl: news.url });
    await expect
      .poll(async () => (await api.readTrigger(id)).health.lastError)
      .toContain('is a private address');
    const mailServer = await startImapServer();
    const fields = { host: '127.0.0.1', port: mailServer.port, secure: 'none', username: 'a', password: 'b' };
    const secondId = await api.deployFeed('imap', fields);
    await expect
      .poll(async () => (await api.readTrigger(secondId)).health.lastError)
      .toContain('is a private address');
    expect([news.requests.length, mailServer.connectionCount]).toEqual([0, 0]);
  });

  it('follows no redirect to a private address', async () => {
    const news = await startNewsFeed();
    const redirector = await startWebServer((_request, response) => {
      response.writeHead(302, { location: news.url }).end();
    });
    const { host } = new URL(redirector.url);
    const api = await openFeedApi('sqlite', { feeds: { egress: { exceptions: [host], ports: 'any' } } });
    const id = await api.deployFeed('rss', { feedUrl: redirector.url });
    await expect
      .poll(async () => (await api.readTrigger(id)).health.lastError)
      .toContain('is a private address');
    expect(news.requests).toHaveLength(0);
  });

  it('waits while limits refuse runs, and starts the runs later', async () => {
    let isFull = false;
    const concurrency = {
      acquire: () => Promise.resolve(isFull ? undefined : () => undefined),
    };
    const api = await openFeedApi('sqlite', { concurrency: concurrency as never });
    const news = await startNewsFeed();
    const id = await api.deployFeed('rss', { feedUrl: news.url, pollMinutes: 1 });
    await api.waitForPoll(id);
    isFull = true;
    news.items.unshift({ id: 'a' });
    api.advanceTo('2026-01-01T00:01:00Z');
    await expect.poll(() => api.readTrigger(id)).toMatchObject({ waitsFor: 'limits', state: 'active' });
    isFull = false;
    api.advanceTo('2026-01-01T00:01:10Z');
    await expectTitles(api, id, ['a']);
  });

  it('is subject to flow control, which can start one run for a batch of items', async () => {
    const api = await openFeedApi('sqlite');
    const news = await startNewsFeed();
    const flowControl = { batch: { size: 3, seconds: 60 } };
    const id = await api.deployFeed('rss', { feedUrl: news.url, pollMinutes: 1, flowControl });
    await api.waitForPoll(id);
    news.items.unshift({ id: 'c' }, { id: 'b' }, { id: 'a' });
    api.advanceTo('2026-01-01T00:01:00Z');
    const readTitlesOfRuns = async () => {
      api.advanceTo('2026-01-01T00:01:01Z');
      const { runs } = await api.engine.listRuns({ workflowId: id });
      const logs = await Promise.all(runs.map(({ runId }) => api.engine.getLogs(runId)));
      return logs.map(([firstLog]) =>
        (firstLog?.output as { events?: JsonObject[] } | undefined)?.events?.map(({ title }) => title),
      );
    };
    await expect.poll(readTitlesOfRuns).toEqual([['a', 'b', 'c']]);
  });

  it('does not store secrets of the workspace in the input of its runs or in its configuration', async () => {
    const values = { KEY: 'hidden-thread-4711', PASSWORD: IMAP_PASSWORD };
    const environments = {
      names: () => Promise.resolve(Object.keys(values)),
      values: () => Promise.resolve(values),
    };
    const api = await openFeedApi('sqlite', { environments, engineOptions: { environments } });
    const news = await startNewsFeed();
    const id = await api.deployFeed('rss', { feedUrl: `${news.url}/{{KEY}}`, pollMinutes: 1 });
    await api.waitForPoll(id);
    expect(news.requests.at(-1)?.path).toBe('/hidden-thread-4711');
    news.items.unshift({ id: 'a', title: 'It is hidden-thread-4711.' });
    api.advanceTo('2026-01-01T00:01:00Z');
    await expect.poll(async () => JSON.stringify(await api.listInputs(id))).toContain('It is');
    expect(JSON.stringify(await api.listInputs(id))).not.toContain('hidden-thread-4711');
    const plainTextFields = { host: 'imap.example.com', username: 'ada', password: 'in plain text' };
    const mailWorkflowId = await api.deployFeed('imap', plainTextFields);
    expect(JSON.stringify(await api.readTrigger(mailWorkflowId))).not.toContain('in plain text');
  });

  it('stores the attachments of messages as files, and marks the messages as read', async () => {
    const environments = {
      names: () => Promise.resolve(['PASSWORD']),
      values: () => Promise.resolve({ PASSWORD: IMAP_PASSWORD }),
    };
    const api = await openFeedApi('sqlite', { environments, engineOptions: { environments } });
    const mailServer = await startImapServer();
    const id = await api.deployFeed('imap', {
      ...{
        host: '127.0.0.1',
        port: mailServer.port,
        secure: 'none',
        username: IMAP_USER,
        password: '{{PASSWORD}}',
      },
      ...{ pollMinutes: 1, markAsRead: true, includeAttachments: true },
    });
    await api.waitForPoll(id);
    const mimeLines = [
      'Content-Type: text/csv',
      'Content-Disposition: attachment; filename="a.csv"',
      '',
      '1,2',
    ];
    mailServer.deliver({ raw: ['Subject: one', ...mimeLines].join('\r\n') });
    api.advanceTo('2026-01-01T00:01:00Z');
    await expect.poll(async () => (await api.listInputs(id)).length).toBe(1);
    const [input] = await api.listInputs(id);
    const { attachments } = (input?.['email'] ?? {}) as { attachments: JsonObject[] };
    expect(attachments).toEqual([
      expect.objectContaining({ name: 'a.csv', type: 'text/csv', key: expect.any(String) as string }),
    ]);
    await expect.poll(() => mailServer.messages()[0]?.flags.has('\\Seen')).toBe(true);
  });

  it('uses only stored credentials of its workspace', async () => {
    const store = await openServiceStore({});
    const sealer = new Sealer(parseKeys(Buffer.alloc(32, 2).toString('base64')));
    const gmail = await startGmailServer();
    const feeds = {
      ...{ egress: {}, services: { gmail: gmail.url } },
      credentials: storedCredentials(store.database, sealer),
    };
    const api = await openFeedApi('sqlite', { store, feeds });
    const userId = await store.workspaces.createUser({ email: 'eve@heddle.test', name: 'Eve' });
    const otherWorkspaceId = await store.workspaces.createWorkspace('Other', userId);
    const storeToken = async (workspaceId: string): Promise<string> => {
      const material = { type: 'oauth', accessToken: GMAIL_TOKEN } as const;
      const credential = { workspaceId, name: 'mail', provider: 'google', material };
      return (await storeCredential(store.database, sealer, credential)).credential.id;
    };
    const workflowIdWithForeignCredential = await api.deployFeed('gmail', {
      triggerCredentials: await storeToken(otherWorkspaceId),
      pollMinutes: 1,
    });
    await expect
      .poll(async () => (await api.readTrigger(workflowIdWithForeignCredential)).health.lastError)
      .toBe('The workspace does not have the stored credential of the trigger.');
    const ownCredentialId = await storeToken(api.workspaceId);
    const id = await api.deployFeed('gmail', { triggerCredentials: ownCredentialId, pollMinutes: 1 });
    await api.waitForPoll(id);
    gmail.deliver('one');
    api.advanceTo('2026-01-01T00:01:00Z');
    await expect.poll(async () => (await api.listInputs(id)).length).toBe(1);
    expect(JSON.stringify(await api.listInputs(id))).not.toContain(GMAIL_TOKEN);
  });
});
