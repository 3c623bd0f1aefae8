import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openTestGoProxy, pinOf, type FixtureModule } from '../../../../../../test/support/go-proxy.ts';
import { createFakeBuilder, openImages, IMAGE_SPEC } from '../../../../../../test/support/images.ts';
import type { Registries } from '../../../builder.ts';
import type { GoModule } from '../recipe.ts';
import { unpackModule } from './modules.ts';

const VALID_MODULE: FixtureModule = {
  path: 'example.test/Tools/one',
  files: { 'a/main.go': 'package main\n' },
};

/** Returns `a/main.go` of a module unpacked in a build, or how the build failed. */
async function unpackInBuild(module: GoModule, go: NonNullable<Registries['go']>): Promise<string> {
  let text = '';
  const builder = createFakeBuilder({
    async assemble(_lock, _spec, context) {
      const folder = join(context.workFolder, 'module');
      await unpackModule(module, { folder }, context);
      text = readFileSync(join(folder, 'a/main.go'), 'utf8');
      return { blobs: { module: folder }, features: { modules: [] }, warnings: [], tools: {} };
    },
  });
  const images = openImages({ javascript: builder }, { registries: { go } });
  const { state, errorCode, errorMessage } = await images.build(IMAGE_SPEC);
  return state === 'ready' ? text : `${errorCode}: ${errorMessage}`;
}

describe('a Go module', () => {
  it('is fetched by its escaped name and verified by its checksum', async () => {
    const { url, requestPaths } = await openTestGoProxy([VALID_MODULE]);
    expect(await unpackInBuild(pinOf(VALID_MODULE), { proxies: [`${url}/`] })).toBe('package main\n');
    expect(requestPaths).toEqual(['/example.test/!tools/one/@v/v1.0.0.zip']);
  });

  it("is fetched with its proxy's credentials without revealing them", async () => {
    const proxy = await openTestGoProxy([VALID_MODULE]);
    const urlWithUser = proxy.url.replace('//', '//us:pass%20word@');
    expect(await unpackInBuild(pinOf(VALID_MODULE), { proxies: [urlWithUser] })).toBe('package main\n');
    expect([...proxy.authorizationHeaders]).toEqual([
      `Basic ${Buffer.from('us:pass word').toString('base64')}`,
    ]);
    proxy.intercept = (_request, response) => (response.writeHead(401).end(), true);
    const outcome = await unpackInBuild(pinOf(VALID_MODULE), { proxies: [urlWithUser] });
    expect(outcome).toMatch(/^registry_unavailable: 127\.0\.0\.1:\d+ responded with 401 for the Go module/);
  });

  const pathOf = (path: string): string => `example.test/Tools/one@v1.0.0/${path}`;
  it.each<[string, FixtureModule, RegExp]>([
    [
      'a path with ..',
      { ...VALID_MODULE, entries: [{ path: pathOf('../../evil') }] },
      /^unsupported_package: .*evil/,
    ],
    [
      'a link',
      { ...VALID_MODULE, entries: [{ path: pathOf('a/link'), content: '/etc/passwd', mode: 0o120777 }] },
      /^unsupported_package: The Go module example\.test\/Tools\/one v1\.0\.0 cannot be unpacked.*link/,
    ],
    [
      'a file of another module',
      { ...VALID_MODULE, entries: [{ path: 'other.test/x@v1.0.0/main.go' }] },
      /^unsupported_package: .*other\.test\/x@v1\.0\.0\/main\.go/,
    ],
    [
      'a file that unpacks to more than its size allows',
      { ...VALID_MODULE, entries: [{ path: pathOf('zeros'), content: new Uint8Array(8 * 2 ** 20) }] },
      /^image_too_large: .*zeros/,
    ],
  ])('with %s is refused', async (_description, module, message) => {
    const { url } = await openTestGoProxy([module]);
    expect(await unpackInBuild(pinOf(module), { proxies: [url] })).toMatch(message);
  });

  it('that does not match its checksum is refused, and the message has both checksums', async () => {
    const { url } = await openTestGoProxy([{ ...VALID_MODULE, files: { 'a/main.go': 'package evil\n' } }]);
    const outcome = await unpackInBuild(pinOf(VALID_MODULE), { proxies: [url] });
    expect(outcome).toMatch(/^integrity_error: The Go module .* does not match its checksum: it is h1:/);
    expect(outcome).toContain(pinOf(VALID_MODULE).sum);
  });

  it.each<[number, RegExp]>([
    [404, /^package_not_found: 127\.0\.0\.1:\d+ has no Go module example\.test\/Tools\/one v1\.0\.0/],
    [410, /^package_not_found: /],
    [403, /^registry_unavailable: .*responded with 403/],
    [429, /^rate_limited: /],
    [503, /^registry_unavailable: .*responded with 503/],
  ])('for which the proxy responds with %i fails', async (status, message) => {
    const proxy = await openTestGoProxy([VALID_MODULE]);
    proxy.intercept = (_request, response) => (response.writeHead(status).end(), true);
    expect(await unpackInBuild(pinOf(VALID_MODULE), { proxies: [proxy.url] })).toMatch(message);
  });

  it('is fetched from the next proxy if one lacks it, and after other failures only if configured', async () => {
    const [emptyProxy, brokenProxy, fullProxy] = [
      await openTestGoProxy([]),
      await openTestGoProxy([]),
      await openTestGoProxy([VALID_MODULE]),
    ];
    brokenProxy.intercept = (_request, response) => (response.writeHead(503).end(), true);
    const fetchFrom = (proxies: readonly string[], fallbackOn: 'not-found' | 'any-error') =>
      unpackInBuild(pinOf(VALID_MODULE), { proxies, fallbackOn });
    expect(await fetchFrom([emptyProxy.url, fullProxy.url], 'not-found')).toBe('package main\n');
    expect(await fetchFrom([brokenProxy.url, fullProxy.url], 'not-found')).toMatch(/^registry_unavailable: /);
    expect(await fetchFrom([brokenProxy.url, 'http://127.0.0.1:9', fullProxy.url], 'any-error')).toBe(
      'package main\n',
    );
    expect(await fetchFrom([fullProxy.url, brokenProxy.url], 'any-error')).toBe('package main\n');
    expect(await fetchFrom([brokenProxy.url, emptyProxy.url], 'any-error')).toMatch(/^package_not_found: /);
  });

  it('cannot be fetched if Go has no proxy', async () => {
    expect(await unpackInBuild(pinOf(VALID_MODULE), { proxies: [] })).toMatch(
      /^registry_unavailable: .*GOPROXY contains no HTTP module proxy/,
    );
  });
});
