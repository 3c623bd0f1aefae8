import type { JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { findFeedType, createRssDocument, FeedSource, titlesOf, startWebServer } from './source.ts';
import type { WebServer } from './source.ts';

/** Starts a server that serves one document, which tests replace. */
async function startDocumentServer(
  headers: { [name: string]: string } = {},
): Promise<WebServer & { document: string | Buffer; status: number; headers: { [name: string]: string } }> {
  const server = await startWebServer((request, response) => {
    const isUnchanged =
      documentServer.headers['etag'] !== undefined &&
      request.headers['if-none-match'] === documentServer.headers['etag'];
    response
      .writeHead(isUnchanged ? 304 : documentServer.status, documentServer.headers)
      .end(isUnchanged ? undefined : documentServer.document);
  });
  const documentServer = {
    ...server,
    document: createRssDocument([]) as string | Buffer,
    status: 200,
    headers,
  };
  return documentServer;
}

const ATOM_DOCUMENT = `<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <title>Looms</title><link rel="self" href="/self"/><link href="/"/><subtitle>About looms</subtitle>
  <author><name>Feed author</name></author>
  <entry>
    <id>urn:1</id><title type="html">Warp &amp; weft</title>
    <link rel="enclosure" type="audio/mpeg" length="12" href="/a.mp3"/><link href="warp"/>
    <updated>2026-01-02T00:00:00Z</updated><published>2026-01-01T00:00:00Z</published>
    <author><name>Ada</name><email>ada@example.com</email></author>
    <category term="looms"/><summary>Short</summary>
    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">Long <b>text</b></div></content>
  </entry>
</feed>`;

describe('an RSS or Atom feed', () => {
  it('starts runs for items that appear after the first poll, oldest first', async () => {
    const server = await startDocumentServer();
    const source = new FeedSource('rss', { feedUrl: server.url });
    server.document = createRssDocument([{ id: 'b' }, { id: 'a' }]);
    expect(titlesOf(await source.poll())).toEqual([]);
    server.document = createRssDocument([{ id: 'd' }, { id: 'c' }, { id: 'b' }, { id: 'a' }]);
    expect(titlesOf(await source.poll())).toEqual(['c', 'd']);
    expect(titlesOf(await source.poll())).toEqual([]);
  });

  it('starts a run for an older item that appears late, because it remembers ids, not the newest date', async () => {
    const server = await startDocumentServer();
    const source = new FeedSource('rss', { feedUrl: server.url });
    const pubDateElement = (day: number) => `<pubDate>0${day} Jan 2026 00:00:00 GMT</pubDate>`;
    server.document = createRssDocument([{ id: 'new', extraXml: pubDateElement(5) }]);
    await source.poll();
    server.document = createRssDocument([
      { id: 'new', title: 'changed', extraXml: pubDateElement(6) },
      { id: 'late', extraXml: pubDateElement(1) },
    ]);
    expect(titlesOf(await source.poll())).toEqual(['late']);
  });

  it('starts runs for as many existing items as `backfill` sets, over several polls', async () => {
    const server = await startDocumentServer();
    server.document = createRssDocument(['e', 'd', 'c', 'b', 'a'].map((id) => ({ id })));
    const source = new FeedSource('rss', { feedUrl: server.url, backfill: '3' }, { limit: 2 });
    const firstPoll = await source.poll();
    expect(titlesOf(firstPoll)).toEqual(['c', 'd']);
    expect(firstPoll.hasMore).toBe(true);
    expect(titlesOf(await source.poll())).toEqual(['e']);
    expect(titlesOf(await source.poll())).toEqual([]);
  });

  it('sends the validators of the last document, and finds no items if the server responds with 304', async () => {
    const server = await startDocumentServer({
      etag: '"1"',
      'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
    });
    const source = new FeedSource('rss', { feedUrl: server.url });
    server.document = createRssDocument([{ id: 'a' }]);
    await source.poll();
    server.document = createRssDocument([{ id: 'b' }]);
    expect(titlesOf(await source.poll())).toEqual([]);
    expect(server.requests[1]?.headers).toMatchObject({
      'if-none-match': '"1"',
      'if-modified-since': 'Thu, 01 Jan 2026 00:00:00 GMT',
    });
    server.headers = { etag: '"2"' };
    expect(titlesOf(await source.poll())).toEqual(['b']);
  });

  it('reads an Atom entry with its text, links and dates', async () => {
    const server = await startDocumentServer({ 'content-type': 'application/atom+xml' });
    server.document = ATOM_DOCUMENT;
    const [item] = (
      await new FeedSource('rss', { feedUrl: `${server.url}/feeds/x?token=1`, backfill: 1 }).poll()
    ).items;
    expect(item?.id).toBe('urn:1');
    expect(item?.input).toEqual({
      title: 'Warp & weft',
      link: `${server.url}/feeds/warp`,
      pubDate: '2026-01-01T00:00:00Z',
      item: {
        ...{ guid: 'urn:1', title: 'Warp & weft', link: `${server.url}/feeds/warp` },
        ...{ pubDate: '2026-01-01T00:00:00Z', isoDate: '2026-01-01T00:00:00.000Z' },
        ...{ summary: 'Short', content: 'Long text', contentSnippet: 'Long text', author: 'Ada' },
        categories: ['looms'],
        enclosure: { url: '/a.mp3', type: 'audio/mpeg', length: 12 },
      },
      feed: { title: 'Looms', link: `${server.url}/`, description: 'About looms' },
      timestamp: '2026-01-01T00:00:00.000Z',
    });
  });

  it('reads RSS 1.0, and documents in the encoding that they declare', async () => {
    const server = await startDocumentServer();
    const rdf = `<?xml version="1.0" encoding="ISO-8859-1"?><rdf:RDF xmlns:rdf="r" xmlns="http://purl.org/rss/1.0/">
      <channel><title>Zeitung</title></channel>
      <item rdf:about="x"><title>Fäden</title><link>https://example.com/1</link><dc:creator>Zoë</dc:creator></item></rdf:RDF>`;
    server.document = Buffer.from(rdf, 'latin1');
    const [item] = (await new FeedSource('rss', { feedUrl: server.url, backfill: 1 }).poll()).items;
    expect(item).toMatchObject({
      id: 'https://example.com/1',
      input: { title: 'Fäden', item: { author: 'Zoë' } },
    });
  });

  it('does not expand entities that a document declares', async () => {
    const server = await startDocumentServer();
    const doctype =
      '<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>';
    server.document = `${doctype}${createRssDocument([{ id: '1', title: '&b;&f; &lt;b&gt;' }]).replace('<?xml version="1.0"?>', '')}`;
    const [item] = (await new FeedSource('rss', { feedUrl: server.url, backfill: 1 }).poll()).items;
    expect(item?.input['title']).toBe('&b;&f; <b>');
  });

  it.each([
    ['is not a feed', '<html><body>Hello</body></html>', 'The document is neither RSS nor Atom.'],
    ['is nested too deeply', `<rss>${'<a>'.repeat(100)}`, 'The document is nested more than 64 levels deep.'],
    ['is empty', '', 'The document is neither RSS nor Atom.'],
  ])('refuses a document that %s', async (_description, document, message) => {
    const server = await startDocumentServer();
    server.document = document;
    await expect(new FeedSource('rss', { feedUrl: server.url }).poll()).rejects.toThrow(message);
  });

  it('reads the first thousand items of a document, and truncates long strings', async () => {
    const server = await startDocumentServer();
    const shortItems = Array.from({ length: 1500 }, (_, index) => ({ id: String(index) }));
    server.document = createRssDocument([{ id: 'long', title: 'x'.repeat(300_000) }, ...shortItems]);
    const source = new FeedSource('rss', { feedUrl: server.url, backfill: 1 });
    const { items, skippedIds } = await source.poll();
    expect(skippedIds).toHaveLength(999);
    expect(items[0]?.input['title']).toHaveLength(200_000);
  });

  it('refuses a document that is too large', async () => {
    const server = await startDocumentServer();
    server.document = `${createRssDocument([]).slice(0, -20)}<!-- ${'x'.repeat(6 * 2 ** 20)}`;
    await expect(new FeedSource('rss', { feedUrl: server.url }).poll()).rejects.toMatchObject({
      code: 'FEED_FAILED',
    });
  });

  it('reports the status of an error response, and the delay in its Retry-After header', async () => {
    const server = await startDocumentServer({ 'retry-after': '120' });
    server.status = 503;
    const source = new FeedSource(
      'rss',
      { feedUrl: `${server.url}/?key={{KEY}}` },
      { env: { KEY: 'hidden-thread' } },
    );
    const failure = await source.poll().catch((error: unknown) => error);
    expect(failure).toMatchObject({
      message: 'The server of the feed responded with the status 503.',
      retryAfterMs: 120_000,
    });
    expect(server.requests[0]?.path).toBe('/?key=hidden-thread');
  });

  it.each<[JsonObject, string]>([
    [{}, 'feedUrl'],
    [{ feedUrl: 'file:///etc/passwd' }, 'feedUrl'],
    [{ feedUrl: 'https://example.com', pollMinutes: 0 }, 'pollMinutes'],
    [{ feedUrl: 'https://example.com', backfill: '101' }, 'backfill'],
  ])('refuses the fields %o', (fields, field) => {
    expect(findFeedType('rss').parseConfig(fields)).toMatchObject({ problems: [{ field }] });
  });
});
