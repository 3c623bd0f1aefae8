import { keyAuthenticator, openServiceStore } from '@heddle/service';
import {
  combineAuthenticators,
  OneTimeToken,
  sessionAuthenticator,
  withSessions,
} from '@heddle/service/access';
import { studioPages } from '@heddle/studio';
import { describe, expect, it } from 'vitest';
import { createTestApi } from '../support/api.ts';

const HOST = '127.0.0.1:7373';
const PAGE_HEADERS = { Host: HOST, 'X-Heddle-Studio': '1', 'Sec-Fetch-Site': 'same-origin' };

async function setUp() {
  const store = await openServiceStore();
  const rules = { hosts: new Set([HOST]), cookieName: 'session' };
  const authenticator = combineAuthenticators(
    keyAuthenticator(store.keys),
    sessionAuthenticator(store.sessions, rules),
  );
  const api = await createTestApi({ store, authenticator });
  const token = new OneTimeToken(api.userId);
  const { sessions, keys } = store;
  const fetch = withSessions(api.api.fetch, { ...rules, sessions, keys, token });
  const send = (method: string, path: string, headers: object, body?: string) =>
    fetch(new Request(`http://${HOST}${path}`, { method, headers: { ...headers }, ...(body && { body }) }));
  const signIn = (body: object, headers: object = PAGE_HEADERS) =>
    send(
      'POST',
      '/api/studio/session',
      { ...headers, 'Content-Type': 'application/json' },
      JSON.stringify(body),
    );
  const cookieOf = (response: Response) => response.headers.get('set-cookie')?.split(';')[0] ?? '';
  const statusOfRunList = async (headers: object) =>
    (await send('GET', `/api/v2/logs?workspaceId=${api.workspaceId}`, headers)).status;
  return { ...api, store, token, send, signIn, cookieOf, statusOfRunList };
}

describe('sessions of browsers', () => {
  it('begin with a sign-in token that can be used once', async () => {
    const { signIn, token, cookieOf, statusOfRunList } = await setUp();
    expect((await signIn({ token: `${token.text}x` })).status).toBe(401);
    const signInResponse = await signIn({ token: token.text });
    expect(signInResponse.status).toBe(200);
    expect(signInResponse.headers.get('set-cookie')).toMatch(/; Path=\/api; .*HttpOnly; SameSite=Strict/);
    expect(await statusOfRunList({ ...PAGE_HEADERS, Cookie: cookieOf(signInResponse) })).toBe(200);
    expect((await signIn({ token: token.text })).status).toBe(401);
  });

  it('are accepted only from pages of this server', async () => {
    const { signIn, token, cookieOf, statusOfRunList } = await setUp();
    const Cookie = cookieOf(await signIn({ token: token.text }));
    const { 'X-Heddle-Studio': _header, ...otherHeaders } = PAGE_HEADERS;
    const attacks = {
      'no header that the page sends': otherHeaders,
      'a host name that points to this server': { ...PAGE_HEADERS, Host: 'evil.test:7373' },
      'another site': { ...PAGE_HEADERS, Origin: 'https://evil.test' },
      'another port': { ...PAGE_HEADERS, Origin: 'http://127.0.0.1:8080' },
      'an opaque origin': { ...PAGE_HEADERS, Origin: 'null' },
      'another port of the same site': { ...PAGE_HEADERS, 'Sec-Fetch-Site': 'same-site' },
      'a link': { ...PAGE_HEADERS, 'Sec-Fetch-Site': 'cross-site' },
    };
    for (const [name, headers] of Object.entries(attacks))
      expect([name, await statusOfRunList({ ...headers, Cookie })]).toEqual([name, 401]);
    expect(await statusOfRunList({ ...PAGE_HEADERS, Origin: `http://${HOST}`, Cookie })).toBe(200);
  });

  it('refuse forged and changed cookies', async () => {
    const { signIn, token, cookieOf, statusOfRunList } = await setUp();
    const Cookie = cookieOf(await signIn({ token: token.text }));
    const [payload = '', signature = ''] = Cookie.split('.');
    const forgedPayload = Buffer.from(JSON.stringify({ u: 'x', e: 9e15, n: 'n' })).toString('base64url');
    for (const value of [
      `session=${forgedPayload}.${signature}`,
      `${payload}.`,
      payload,
      'session=',
      'session=..',
    ])
      expect([value, await statusOfRunList({ ...PAGE_HEADERS, Cookie: value })]).toEqual([value, 401]);
  });

  it('that began with a key end when the key is revoked', async () => {
    const { signIn, cookieOf, statusOfRunList, store, userId } = await setUp();
    const { id, key } = await store.keys.create({ userId }, 'browser');
    expect((await signIn({ apiKey: 'sk-heddle-unknown' })).status).toBe(401);
    const Cookie = cookieOf(await signIn({ apiKey: key }));
    expect(await statusOfRunList({ ...PAGE_HEADERS, Cookie })).toBe(200);
    await store.keys.revoke(id);
    expect(await statusOfRunList({ ...PAGE_HEADERS, Cookie })).toBe(401);
  });

  it('cannot be started by other sites, or with a body that is too large or not JSON', async () => {
    const { signIn, send, token } = await setUp();
    for (const headers of [
      { Host: HOST },
      { ...PAGE_HEADERS, Origin: 'https://evil.test' },
      { ...PAGE_HEADERS, Host: 'evil.test' },
    ])
      expect((await signIn({ token: token.text }, headers)).status).toBe(403);
    expect((await signIn({ token: 'x'.repeat(10_000) })).status).toBe(400);
    const textHeaders = { ...PAGE_HEADERS, 'Content-Type': 'text/plain' };
    expect(
      (await send('POST', '/api/studio/session', textHeaders, JSON.stringify({ token: token.text }))).status,
    ).toBe(400);
    expect((await signIn({ token: token.text })).status).toBe(200);
  });
});

describe('the pages of the Studio', () => {
  const pages = studioPages({ basePath: '/internal/heddle' });
  const get = (path: string) => pages(new Request(`http://${HOST}${path}`));

  it('have a strict content security policy and the base path of the host', async () => {
    const page = await get('/internal/heddle/runs/some-run');
    const html = await page!.text();
    const policy = page!.headers.get('content-security-policy') ?? '';
    expect(html).toContain('<base href="/internal/heddle/">');
    expect(policy).toContain("default-src 'none'; script-src 'self';");
    expect(policy).not.toContain('unsafe');
    expect(html).not.toMatch(/<script(?![^>]* src=)|NONCE/);
    expect((await get('/internal/heddle'))?.headers.get('location')).toBe('/internal/heddle/');
  });

  it('leave all other paths to the API, and serve no other files', async () => {
    for (const path of [
      '/internal/heddle/api/v2/logs',
      '/internal/heddle/docs',
      '/runs',
      '/internal/heddle/assets/..%2findex.html',
      '/internal/heddle/assets/none.js',
      `/internal/heddle/assets/${'a'.repeat(5000)}.js`,
    ])
      expect([path, await get(path)]).toEqual([path, undefined]);
  });

  it('stay within their budgets: 250 KB for the lists, 350 KB with the graph', async () => {
    const sizes = new Map<string, Promise<number>>();
    const fetchSize = async (path: string): Promise<number> => {
      const request = new Request(`http://${HOST}/internal/heddle/${path}`, {
        headers: { 'Accept-Encoding': 'gzip' },
      });
      const response = await pages(request);
      expect(response?.headers.get('cache-control')).toContain('immutable');
      return Number(response?.headers.get('content-length'));
    };
    const html = await (await get('/internal/heddle/'))!.text();
    const shellFiles = [...html.matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, path = '']) => path);
    for (const path of shellFiles) sizes.set(path, fetchSize(path));
    const total = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);
    const shellBytes = total(await Promise.all(sizes.values()));
    const mainScript = shellFiles.find((path) => /index-.*\.js$/.test(path)) ?? '';
    const script = await (await get(`/internal/heddle/${mainScript}`))!.text();
    const graphFiles = new Set(
      [...script.matchAll(/assets\/run-page-[\w-]+\.(?:js|css)|\.\/run-page-[\w-]+\.js/g)].map(([path]) =>
        path.replace('./', 'assets/'),
      ),
    );
    expect(graphFiles.size).toBeGreaterThan(0);
    const graphBytes = total(await Promise.all([...graphFiles].map((path) => fetchSize(path))));
    expect(shellBytes).toBeLessThan(250 * 1024);
    expect(shellBytes + graphBytes).toBeLessThan(350 * 1024);
  });
});
