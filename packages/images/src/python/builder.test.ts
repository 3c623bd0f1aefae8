import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createImageFolder, openImages } from '../../../../test/support/images.ts';
import {
  type IndexedWheel,
  type PythonIndex,
  openTestPythonIndex,
  type PythonIndexOptions,
} from '../../../../test/support/python/python-index.ts';
import { encodeWheel, formatWheelFilename } from '../../../../test/support/python/wheel.ts';
import { sample } from '../../../../test/support/scale.ts';
import type { Registries } from '../builder.ts';
import type { ImageErrorCode } from '../error.ts';
import type { ImageRecord } from '../record.ts';
import { pythonBuilder } from './builder.ts';

async function build(
  dependencies: readonly string[],
  python: NonNullable<Registries['python']>,
  options: { readonly buildTimeoutMs?: number; readonly maxImageMiB?: number } = {},
): Promise<ImageRecord> {
  const images = openImages({ python: pythonBuilder() }, { registries: { python }, ...options });
  return images.build({ language: 'python', dependencies });
}

/** Builds an image from an index with these packages. Returns its record and the index. */
async function buildFromIndex(
  wheels: readonly IndexedWheel[],
  dependencies: readonly string[],
  options?: PythonIndexOptions,
): Promise<{ record: ImageRecord; index: PythonIndex }> {
  const index = await openTestPythonIndex(wheels, options);
  return { record: await build(dependencies, { index: index.url }), index };
}

function expectFailure(
  { errorCode, errorMessage }: ImageRecord,
  code: ImageErrorCode,
  message: RegExp,
): void {
  expect({ errorCode, errorMessage }).toEqual({
    errorCode: code,
    errorMessage: expect.stringMatching(message) as string,
  });
}

const zipBombEntry = { path: 'alpha/bomb', content: new Uint8Array(8 * 2 ** 20) };

describe('failed builds', { timeout: 120_000 }, () => {
  const FAILURES: readonly (readonly [
    code: ImageErrorCode,
    description: string,
    wheels: IndexedWheel[],
    dependencies: string[],
    message: RegExp,
  ])[] = [
    ['package_not_found', 'an unknown package', [], ['alpha'], /^There is no Python package alpha\./],
    [
      'package_not_found',
      'an unknown requirement',
      [{ name: 'alpha', requires: ['ghost'] }],
      ['alpha'],
      /ghost \(alpha 1\.0 needs ghost\)/,
    ],
    [
      'version_not_found',
      'a version that does not exist',
      [{ name: 'alpha' }],
      ['alpha>=2'],
      /the newest is 1\.0/,
    ],
    [
      'resolution_conflict',
      'a contradiction',
      [
        { name: 'alpha', requires: ['gamma<2'] },
        { name: 'beta', requires: ['gamma>=2'] },
        { name: 'gamma' },
        { name: 'gamma', version: '2.0' },
      ],
      ['alpha', 'beta'],
      /alpha 1\.0 needs gamma<2\./,
    ],
    [
      'no_compatible_wheel',
      'wheels for other platforms',
      [{ name: 'alpha', tags: 'cp314-cp314-manylinux_2_28_x86_64' }],
      ['alpha'],
      /its wheels are for manylinux x86_64\. Use the native runtime/,
    ],
    [
      'incompatible_platform',
      'another Python',
      [{ name: 'alpha', requiresPython: '<3.14' }],
      ['alpha'],
      /Python <3\.14 is required/,
    ],
    [
      'integrity_error',
      'a file that does not match its digest',
      [{ name: 'alpha', hasSeparateMetadata: true, hasWrongHash: true }],
      ['alpha'],
      /does not match its expected digest/,
    ],
    [
      'integrity_error',
      'requirements that differ from the index',
      [{ name: 'alpha', hasSeparateMetadata: true, requires: ['beta'], publishedRequirements: [] }],
      ['alpha'],
      /requirements differ from those in the index/,
    ],
    [
      'unsupported_package',
      'a URL as a requirement',
      [{ name: 'alpha', requires: ['beta @ https://x.test/b.whl'] }],
      ['alpha'],
      /a URL; only packages from an index/,
    ],
    [
      'unsupported_package',
      'a path outside of the folder',
      [{ name: 'alpha', hasSeparateMetadata: true, entries: [{ path: '../evil.py' }] }],
      ['alpha'],
      /alpha-1\.0-py3-none-any\.whl: The archive .*evil/,
    ],
    [
      'unsupported_package',
      'a link',
      [
        {
          name: 'alpha',
          hasSeparateMetadata: true,
          entries: [{ path: 'link', content: '/etc/passwd', mode: 0o120777 }],
        },
      ],
      ['alpha'],
      /has a link/,
    ],
    [
      'image_too_large',
      'a zip bomb',
      [{ name: 'alpha', hasSeparateMetadata: true, entries: [zipBombEntry] }],
      ['alpha'],
      /unpacks to more than 200 times/,
    ],
    [
      'load_failed',
      'an exception while loading',
      [{ name: 'alpha', files: { 'alpha.py': 'raise ValueError("no luck")' } }],
      ['alpha'],
      /The module alpha cannot be imported: ValueError: no luck/,
    ],
    [
      'load_failed',
      'an exit of the interpreter while loading',
      [{ name: 'alpha', files: { 'alpha.py': 'import sys; sys.exit(3)' } }],
      ['alpha'],
      /SystemExit: 3/,
    ],
    [
      'load_failed',
      'too much memory while loading',
      [{ name: 'alpha', files: { 'alpha.py': 'x = bytearray(400 * 2**20)' } }],
      ['alpha'],
      /MemoryError/,
    ],
  ];

  it.each(sample(FAILURES, 4, 'failed builds of Python packages'))(
    '%s: %s',
    async (code, _description, ...[wheels, dependencies, message]) => {
      const { record } = await buildFromIndex(wheels, dependencies);
      expectFailure(record, code, message);
    },
  );

  it.each<[code: ImageErrorCode, status: number]>([
    ['registry_unavailable', 503],
    ['registry_unavailable', 403],
    ['rate_limited', 429],
  ])('%s: the index responds with %i', async (code, status) => {
    const index = await openTestPythonIndex([]);
    index.intercept = (_request, response) => {
      response.writeHead(status).end();
      return true;
    };
    expectFailure(await build(['alpha'], { index: index.url }), code, /127\.0\.0\.1/);
  });

  it('registry_unavailable: no server, or not an index', async () => {
    expectFailure(
      await build(['alpha'], { index: 'http://127.0.0.1:9/simple' }),
      'registry_unavailable',
      /./,
    );
    const index = await openTestPythonIndex([]);
    index.intercept = (_request, response) => {
      response.end('{"hello": 1}');
      return true;
    };
    expectFailure(
      await build(['alpha'], { index: index.url }),
      'registry_unavailable',
      /something that is not an index page/,
    );
    expectFailure(
      await build(['alpha'], { wheelhouse: join(createImageFolder(), 'none') }),
      'registry_unavailable',
      /folder of wheels cannot be read/,
    );
  });

  it('image_too_large: an image that is larger than maxImageMiB', async () => {
    const index = await openTestPythonIndex([{ name: 'alpha' }]);
    expectFailure(
      await build(['alpha'], { index: index.url }, { maxImageMiB: 1 }),
      'image_too_large',
      /the maximum is 1 MiB/,
    );
  });

  it('build_timeout: an index that does not answer', async () => {
    const index = await openTestPythonIndex([]);
    index.intercept = () => true;
    expectFailure(await build(['alpha'], { index: index.url }, { buildTimeoutMs: 50 }), 'build_timeout', /./);
  });

  it('invalid_specifier: an invalid requirement is refused before a build', async () => {
    await expect(build(['alpha @ https://x.test/a.whl'], {})).rejects.toThrow(/it is a URL/);
    await expect(build(['--index-url=https://x.test'], {})).rejects.toThrow(/dash/);
  });
});

describe('metadata is read', () => {
  const largeEntry = {
    path: 'alpha/data.bin',
    content: Buffer.from(Array.from({ length: 400_000 }, (_, index) => (index * 7919) % 251)),
    isCompressed: false,
  };
  const alpha: IndexedWheel = { name: 'alpha', requires: ['ghost'], entries: [largeEntry] };
  const wheelPath = '/files/alpha-1.0-py3-none-any.whl';

  it.each<[description: string, wheel: IndexedWheel, options: PythonIndexOptions, files: string[]]>([
    ['from a separate file', { ...alpha, hasSeparateMetadata: true }, {}, [`${wheelPath}.metadata`]],
    [
      'from a separate file, with an HTML page',
      { ...alpha, hasSeparateMetadata: true },
      { format: 'html' },
      [`${wheelPath}.metadata`],
    ],
    ['from the end of the wheel, by a range request', alpha, {}, [`${wheelPath} bytes=N`]],
    ['from the whole wheel, without range support', alpha, { supportsRanges: false }, [wheelPath, wheelPath]],
    ['from the whole wheel, if its size is unknown', alpha, { format: 'html' }, [wheelPath]],
  ])('%s', async (_description, wheel, options, files) => {
    const { record, index } = await buildFromIndex([wheel], ['alpha'], options);
    expectFailure(record, 'package_not_found', /ghost/);
    const requests = index.requests.filter((path) => path.startsWith('/files/'));
    expect(requests.map((path) => path.replace(/\d+-\d+$/, 'N'))).toEqual(files);
  });
});

describe('wheelhouses', { timeout: 120_000 }, () => {
  const wheel = {
    name: 'alpha',
    version: '0.1',
    files: { 'alpha.py': 'raise ValueError("from the wheelhouse")' },
  };

  it('take precedence over the index', async () => {
    const folder = createImageFolder();
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, formatWheelFilename(wheel)), encodeWheel(wheel));
    const index = await openTestPythonIndex([{ name: 'alpha', version: '9.0' }]);
    expectFailure(
      await build(['alpha'], { wheelhouse: folder, index: index.url }),
      'load_failed',
      /from the wheelhouse/,
    );
    expect(index.requests).toEqual([]);
  });
});
