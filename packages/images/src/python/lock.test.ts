import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createImageFolder } from '../../../../test/support/images.ts';
import { target } from '../../../../test/support/python/releases.ts';
import { openTestPythonIndex } from '../../../../test/support/python/python-index.ts';
import { encodeWheel } from '../../../../test/support/python/wheel.ts';
import type { BuildContext, Registries } from '../builder.ts';
import { ImageError } from '../error.ts';
import { lockPythonPackages, readLockData } from './lock.ts';
import { withCredentials } from './sources/credentials.ts';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Creates a context with pages and files in memory; `requests` records each request with its authorization. */
function createContext(
  python: NonNullable<Registries['python']>,
  files: Readonly<Record<string, Uint8Array>>,
  requests: string[] = [],
): BuildContext {
  const workFolder = createImageFolder();
  const contentAt = (url: string, headers: Readonly<Record<string, string>> = {}): Uint8Array | undefined => {
    requests.push(`${url} ${headers['authorization'] ?? ''}`.trim());
    return files[url];
  };
  const context: Partial<BuildContext> = {
    workFolder,
    registries: { python },
    signal: new AbortController().signal,
    log: () => undefined,
    reportProgress: () => undefined,
    fetchPage: (url, { headers }) => {
      const body = contentAt(url, headers);
      return Promise.resolve({ status: body ? 200 : 404, url, body: body ?? new Uint8Array() });
    },
    fetchVerified: (url, digest, { headers }) => {
      const body = contentAt(url, headers);
      if (!body || `sha256:${sha256(body)}` !== digest) throw new ImageError('integrity_error', url);
      const path = join(workFolder, sha256(body));
      writeFileSync(path, body);
      return Promise.resolve({ path, sha256: sha256(body), size: body.length });
    },
  };
  // The parts of a context that locking needs.
  return context as BuildContext;
}

const specOf = (...dependencies: string[]) =>
  ({ language: 'python', dependencies, cliTools: [], systemPackages: [] }) as const;

describe('wheels of a Pyodide distribution', () => {
  const filename = 'alpha-1.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl';
  const bytes = encodeWheel({ name: 'alpha', tags: 'cp314-cp314-pyemscripten_2026_0_wasm32' });
  const mirror = 'https://mirror.test/full';
  const files = { [`${mirror}/${filename}`]: bytes };

  it("are fetched from the mirror by the digest in the distribution's lock file", async () => {
    const wheels = { [filename]: sha256(bytes), 'libthing-1.0.zip': '00' };
    const lock = await lockPythonPackages(specOf('alpha'), createContext({ pyodide: mirror }, files), {
      target,
      wheelDigests: wheels,
    });
    expect(lock.entries).toEqual([{ name: 'alpha', version: '1.0', digest: `sha256:${sha256(bytes)}` }]);
    expect(readLockData(lock).wheels[0]).toMatchObject({
      source: 'pyodide',
      location: `${mirror}/${filename}`,
    });
  });

  it('are refused if the mirror has a different file', async () => {
    const context = createContext({ pyodide: mirror }, files);
    await expect(
      lockPythonPackages(specOf('alpha'), context, { target, wheelDigests: { [filename]: '0'.repeat(64) } }),
    ).rejects.toMatchObject({
      code: 'integrity_error',
    });
  });

  it('are not available without a mirror', async () => {
    await expect(
      lockPythonPackages(specOf('alpha'), createContext({}, files), {
        target,
        wheelDigests: { [filename]: sha256(bytes) },
      }),
    ).rejects.toMatchObject({
      code: 'package_not_found',
    });
  });
});

describe('locks', () => {
  it('are parsed from a record, or refused', () => {
    const wheel = {
      name: 'a',
      version: '1',
      filename: 'a',
      digest: 'd',
      location: 'l',
      source: 'index',
      requires: [],
    };
    const lock = (data: unknown) => ({ entries: [], data });
    expect(readLockData(lock({ wheels: [wheel], warnings: ['w'] }))).toEqual({
      wheels: [wheel],
      warnings: ['w'],
    });
    for (const data of [null, {}, { wheels: [{ ...wheel, digest: 1 }], warnings: [] }]) {
      expect(() => readLockData(lock(data))).toThrow(/Build the image again/);
    }
  });

  it('are equal for the same index', async () => {
    const { url } = await openTestPythonIndex([
      { name: 'alpha', requires: ['beta'] },
      { name: 'beta' },
      { name: 'beta', version: '0.9' },
    ]);
    const fetchBytes = async (fileUrl: string): Promise<Uint8Array> =>
      new Uint8Array(await (await fetch(fileUrl)).arrayBuffer());
    const context: BuildContext = {
      ...createContext({ index: url }, {}),
      fetchPage: async (pageUrl) => ({ status: 200, url: pageUrl, body: await fetchBytes(pageUrl) }),
      fetchVerified: async (fileUrl, digest) => {
        const file = join(createImageFolder(), 'file');
        writeFileSync(file, await fetchBytes(fileUrl));
        return { path: file, sha256: digest, size: 0 };
      },
    };
    const locks = await Promise.all(
      [1, 2].map(() => lockPythonPackages(specOf('alpha'), context, { target, wheelDigests: {} })),
    );
    expect(locks[0]).toEqual(locks[1]);
    expect(locks[0]?.entries.map(({ name, version }) => `${name} ${version}`)).toEqual([
      'alpha 1.0',
      'beta 1.0',
    ]);
  });
});

it('credentials are sent only to their own origin, for pages and files', async () => {
  const requests: string[] = [];
  const innerContext = createContext({ index: 'https://me:s%20cret@private.test/simple/' }, {}, requests);
  const context = withCredentials(innerContext);
  await context.fetchPage('https://private.test/simple/a/', { maxBytes: 1 });
  await context.fetchPage('https://files.test/a.whl', { maxBytes: 1 });
  expect(() => context.fetchVerified('https://private.test/a.whl', 'sha256:0', { maxBytes: 1 })).toThrow(
    'a.whl',
  );
  const basicAuth = `Basic ${Buffer.from('me:s cret').toString('base64')}`;
  expect(requests).toEqual([
    `https://private.test/simple/a/ ${basicAuth}`,
    'https://files.test/a.whl',
    `https://private.test/a.whl ${basicAuth}`,
  ]);
});
