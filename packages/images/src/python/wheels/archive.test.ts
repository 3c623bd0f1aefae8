import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createZip, type ZipEntry } from '../../../../../test/support/python/zip.ts';
import { isImageError } from '../../error.ts';
import { withArchive } from './archive.ts';
import { contentsOf, modulesOf } from './contents.ts';
import { MAX_FILES } from './limits.ts';
import { type StoredFile, writeStoredZip } from './stored-zip.ts';

function writeArchive(bytes: Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'archive-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'archive.zip');
  writeFileSync(path, bytes);
  return path;
}

/** Returns path → text of all files in the archive, or `code: message`. */
async function unpack(bytes: Uint8Array): Promise<Record<string, string> | string> {
  try {
    return await withArchive(writeArchive(bytes), async (files) => {
      const texts = await Promise.all(
        files.map(async (file) => [file.path, (await file.read()).toString()] as const),
      );
      return Object.fromEntries(texts);
    });
  } catch (error) {
    return isImageError(error) ? `${error.code}: ${error.message}` : `not an ImageError: ${String(error)}`;
  }
}

describe('archives', () => {
  it('are read by path, compressed or not', async () => {
    const archive = createZip([
      { path: 'a/', isCompressed: false },
      { path: 'a/b.py', content: 'x = 1\n'.repeat(500) },
      { path: 'ü.txt', content: 'y', isCompressed: false, mode: 0o100644 },
    ]);
    expect(await unpack(archive)).toEqual({ 'a/b.py': 'x = 1\n'.repeat(500), 'ü.txt': 'y' });
  });

  const zeros = new Uint8Array(8 * 2 ** 20);
  it.each<[string, ZipEntry[], RegExp]>([
    ['a path that begins with ..', [{ path: '../evil.py' }], /^unsupported_package: .*evil/],
    ['a path with .. inside', [{ path: 'a/../../evil.py' }], /^unsupported_package: .*evil/],
    ['an absolute path', [{ path: '/etc/evil' }], /^unsupported_package: .*evil/],
    ['a Windows path', [{ path: 'C:/evil.py' }], /^unsupported_package: .*evil/],
    ['backslashes', [{ path: '..\\evil.py' }], /^unsupported_package: .*evil/],
    ['an empty path segment', [{ path: 'a//evil.py' }], /^unsupported_package: .*evil/],
    ['a control character', [{ path: 'a\n.py' }], /^unsupported_package: .*a\\n\.py/],
    ['a link', [{ path: 'link', content: '/etc/passwd', mode: 0o120777 }], /^unsupported_package: .*link/],
    ['a device', [{ path: 'null', mode: 0o020666 }], /^unsupported_package: .*null/],
    ['an encrypted file', [{ path: 'secret.py', isEncrypted: true }], /^unsupported_package: .*secret/],
    [
      'the same name twice',
      [
        { path: 'a.py', content: 'good' },
        { path: 'a.py', content: 'evil' },
      ],
      /^unsupported_package: .*"a\.py" twice/,
    ],
    ['a zip bomb', [{ path: 'bomb', content: zeros }], /^image_too_large: .*200 times/],
    [
      'a zip bomb with a forged size',
      [{ path: 'bomb', content: zeros, claimedSize: 100 }],
      /^unsupported_package: .*invalid/,
    ],
    ['a file with a huge declared size', [{ path: 'huge', claimedSize: 0xfffffff0 }], /^image_too_large/],
    [
      'more files than an image may have',
      Array.from({ length: MAX_FILES + 1 }, (_, index) => ({ path: `${index}`, isCompressed: false })),
      /^image_too_large: .*more than 50000 files/,
    ],
    [
      'many large files',
      Array.from({ length: 60 }, (_, i) => ({ path: `${i}`, content: 'x', claimedSize: 2 ** 20 * 9 })),
      /^image_too_large/,
    ],
  ])('are refused with %s', async (_description, entries, expected) => {
    expect(await unpack(createZip(entries))).toMatch(expected);
  });

  it('are refused if they are truncated or not zip archives', async () => {
    const archive = createZip([{ path: 'a.py', content: 'x = 1\n'.repeat(1_000), isCompressed: false }]);
    const brokenArchives = [Buffer.from('<html>'), archive.subarray(0, 3_000), archive.subarray(3_000)];
    const outcomes = await Promise.all(brokenArchives.map(unpack));
    for (const outcome of outcomes) expect(outcome).toMatch(/^unsupported_package: The archive is invalid/);
  });

  it('that are written contain the same files when they are read', async () => {
    async function* files(): AsyncGenerator<StoredFile> {
      yield { path: 'ä/a.pyc', bytes: Buffer.from('one') };
      yield { path: 'b.txt', bytes: Buffer.alloc(0) };
    }
    const folder = mkdtempSync(join(tmpdir(), 'archive-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const paths = [join(folder, '1.zip'), join(folder, '2.zip')] as const;
    for (const path of paths) await writeStoredZip(path, files());
    const read = (path: string) =>
      withArchive(path, (archiveFiles) =>
        Promise.all(archiveFiles.map(async (file) => [file.path, (await file.read()).toString('hex')])),
      );
    const [first, second] = await Promise.all(paths.map(read));
    expect(first).toEqual([
      ['ä/a.pyc', Buffer.from('one').toString('hex')],
      ['b.txt', ''],
    ]);
    expect(second).toEqual(first);
  });
});

describe('wheels', () => {
  const createFiles = (paths: readonly string[]) =>
    paths.map((path) => ({ path, size: 0, read: () => Promise.resolve(Buffer.alloc(0)) }));

  it('provide files for a site folder, except those that run at startup', () => {
    const { files, startupFiles, modules } = contentsOf(
      createFiles([
        'pkg/__init__.py',
        'pkg/data.json',
        'pkg/__pycache__/__init__.cpython-314.pyc',
        'pkg/old.pyc',
        'pkg/lib.a',
        'pkg-1.0.data/purelib/more.py',
        'pkg-1.0.data/scripts/run',
        'pkg-1.0.data/data/etc/settings',
        'pkg-1.0.dist-info/METADATA',
        'pkg-1.0.dist-info/RECORD',
        'pkg-1.0.dist-info/entry_points.txt',
        'evil.pth',
        'pkg-1.0.data/purelib/distutils-precedence.pth',
        'sitecustomize.py',
        'usercustomize/__init__.py',
        'sitecustomize.so',
        'usercustomize.abi3.so',
      ]),
    );
    expect([...files.keys()].sort()).toEqual(
      [
        'more.py',
        'pkg-1.0.dist-info/METADATA',
        'pkg-1.0.dist-info/entry_points.txt',
        'pkg/__init__.py',
        'pkg/data.json',
      ].sort(),
    );
    expect(startupFiles).toEqual([
      'evil.pth',
      'distutils-precedence.pth',
      'sitecustomize.py',
      'usercustomize/__init__.py',
      'sitecustomize.so',
      'usercustomize.abi3.so',
    ]);
    expect(modules).toEqual(['more', 'pkg']);
  });

  it.each([
    ['modules and packages', ['six.py', 'bs4/__init__.py', 'bs4/dammit.py'], ['bs4', 'six']],
    [
      'extension modules',
      ['_yaml.cpython-314-wasm32-emscripten.so', 'yaml/__init__.py', 'fast.abi3.so'],
      ['fast', 'yaml', '_yaml'],
    ],
    [
      'namespaces',
      ['google/cloud/storage/__init__.py', 'google/auth.py'],
      ['google.auth', 'google.cloud.storage'],
    ],
    [
      'no modules of the interpreter itself',
      ['js.py', 'js/jquery/__init__.py', 'pyodide/__init__.py', 'pyodide_js.py', '__main__.py', 'jsx.py'],
      ['jsx'],
    ],
    ['no data', ['pkg/__init__.py', 'share/readme.txt', 'not-a-name/x.py', 'pkg/templates/t.py'], ['pkg']],
  ])('have modules that can be imported: %s', (_description, paths, modules) => {
    expect(modulesOf(paths)).toEqual(modules);
  });
});
