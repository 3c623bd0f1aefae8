import type { JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { sendJson, startToolService, startServer } from './tool-service.ts';

const ALL_ITEMS = Array.from({ length: 7 }, (_, n) => ({ n }));
/** Returns the argument `at` of a request: the number of a page, or an offset. */
const readAtArgument = (url: URL): number => Number(url.searchParams.get('at') ?? 0);

describe('pages of a list', () => {
  it('are requested by number until one has no items', async () => {
    const paging = { by: 'page', items: 'list', argument: 'at', pages: 10 };
    const { call, requests } = await startToolService({ paging }, ({ url }, response) => {
      const page = readAtArgument(url) || 1;
      sendJson(response, { list: ALL_ITEMS.slice((page - 1) * 3, page * 3) });
    });
    expect((await call()).output).toMatchObject({ data: { items: ALL_ITEMS } });
    expect(requests.map(({ url }) => url)).toEqual([
      '/api/items',
      ...[2, 3, 4].map((page) => `/api/items?at=${page}`),
    ]);
  });

  it('begin at the first page number of the service', async () => {
    const paging = { by: 'page', items: 'list', argument: 'at', first: 0, pages: 2 };
    const { call, requests } = await startToolService({ paging }, ({ url }, response) =>
      sendJson(response, { list: [{ n: readAtArgument(url) }] }),
    );
    await call();
    expect(requests.map(({ url }) => url)).toEqual(['/api/items', '/api/items?at=1']);
  });

  it.each([
    ['the number of all items is reached', { total: 'all' }],
    ['there are no more items', { more: 'more' }],
  ])('are requested by offset until %s', async (_title, endFields) => {
    const paging = { by: 'offset', items: 'list', argument: 'at', pages: 10, ...endFields };
    const { call, requests } = await startToolService({ paging }, ({ url }, response) => {
      const offset = readAtArgument(url);
      sendJson(response, {
        list: ALL_ITEMS.slice(offset, offset + 3),
        all: ALL_ITEMS.length,
        more: offset + 3 < ALL_ITEMS.length,
      });
    });
    expect((await call()).output).toMatchObject({ data: { items: ALL_ITEMS } });
    expect(requests.map(({ url }) => url)).toEqual(['/api/items', '/api/items?at=3', '/api/items?at=6']);
  });

  it('are requested by the links in responses', async () => {
    const { call, requests } = await startToolService(
      { paging: { by: 'link', argument: 'at', pages: 10 } },
      ({ url, baseUrl }, response) => {
        const page = Number(url.searchParams.get('page') ?? 1);
        const link = `<${baseUrl}/items?page=1>; rel=first, </api/items?page=${page + 1}>; title="a, b"; rel="last next"`;
        sendJson(response, ALL_ITEMS.slice((page - 1) * 3, page * 3), page < 3 ? { link } : {});
      },
    );
    expect((await call()).output).toMatchObject({ data: ALL_ITEMS });
    expect(requests.map(({ url }) => url)).toEqual(['/api/items', '/api/items?page=2', '/api/items?page=3']);
  });

  it.each<[string, JsonObject]>([
    ['page', { by: 'page', items: 'list' }],
    ['offset', { by: 'offset', items: 'list' }],
    ['cursor', { items: 'list', cursor: 'next' }],
  ])('that are requested by %s are limited to the maximum of the tool', async (_pagingKind, pagingFields) => {
    let n = 0;
    const paging = { ...pagingFields, argument: 'at', pages: 4 };
    const { call, requests } = await startToolService({ paging }, (_, response) =>
      sendJson(response, { list: [{ n: n++ }], next: 100 + n }),
    );
    await call();
    expect(requests).toHaveLength(4);
  });

  it.each<[string, JsonObject, string]>([
    ['the same page', { by: 'page', items: 'list', argument: 'at' }, 'is followed by the same page again'],
    [
      'the same offset',
      { by: 'offset', items: 'list', argument: 'at' },
      'is followed by the same page again',
    ],
    ['the same link', { by: 'link', items: 'list' }, 'leads to a page that was read before'],
    [
      'the same cursor',
      { items: 'list', cursor: 'next', argument: 'at' },
      'leads to a page that was read before',
    ],
  ])('end with an error when the service repeats %s', async (_title, pagingFields, message) => {
    let n = 0;
    const { call, requests } = await startToolService(
      { paging: { ...pagingFields, pages: 100 } },
      ({ baseUrl }, response) => {
        const item = pagingFields['by'] === 'page' || pagingFields['by'] === 'offset' ? 1 : n++;
        sendJson(response, { list: [{ item }], next: 7 }, { link: `<${baseUrl}/items?page=2>; rel="next"` });
      },
    );
    const { error } = await call();
    expect(error).toMatchObject({ code: 'TOOL_PAGES_REPEATED' });
    expect(error?.message).toContain(message);
    expect(requests.length).toBeLessThanOrEqual(3);
  });

  it.each<[string, (otherOrigin: string, origin: string) => string]>([
    ['another origin', (otherOrigin) => `${otherOrigin}/api/items?page=2`],
    [
      'another origin without a scheme',
      (otherOrigin) => `${otherOrigin.slice('http:'.length)}/api/items?page=2`,
    ],
    ['the network of the engine', () => 'http://169.254.169.254/latest/meta-data/'],
    ['another path of the host', (_otherOrigin, origin) => `${origin}/admin/items?page=2`],
    ['a path of the host with the same beginning', (_otherOrigin, origin) => `${origin}/api2/items`],
    ['another path with dot segments', (_otherOrigin, origin) => `${origin}/api/../admin/items`],
    [
      'a URL with a user name',
      (_otherOrigin, origin) => `${origin.replace('//', '//x:y@')}/api/items?page=2`,
    ],
    ['an invalid URL', () => 'http://['],
    ['a file: URL', () => 'file:///etc/passwd'],
  ])('are not requested from %s, which would get the credential', async (_title, linkTo) => {
    const foreignRequests: unknown[] = [];
    const otherOrigin = await startServer((request, response) => {
      foreignRequests.push(request.headers);
      response.end('[]');
    });
    const { call, requests } = await startToolService(
      { paging: { by: 'link', pages: 10 } },
      ({ baseUrl }, response) =>
        sendJson(response, [1], { link: `<${linkTo(otherOrigin, new URL(baseUrl).origin)}>; rel="next"` }),
      { egress: { allowPrivate: ['127.0.0.1/32'], ports: 'any' as never } },
    );
    const { error } = await call();
    expect(error).toMatchObject({ code: 'HTTP_FAILED' });
    expect(error?.message).toMatch(/not under the base URL of the service/);
    expect(requests).toHaveLength(1);
    expect(foreignRequests).toEqual([]);
  });

  it('by links need a credential that is not part of the URL', async () => {
    const credential = { schemes: { key: { type: 'key', in: 'query', name: 'k' } } };
    const startPromise = startToolService({ paging: { by: 'link', pages: 2 }, credential }, () => undefined);
    await expect(startPromise).rejects.toThrow(/link paging, which needs/);
  });
});
