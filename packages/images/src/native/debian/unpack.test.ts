import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
  existsSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { debOf, type FixtureDeb } from '../../../../../test/support/debian-mirror.ts';
import type { TarEntry } from '../../../../../test/support/tarball.ts';
import { decompressText } from '../archive/decompress.ts';
import { unpackDeb } from './unpack.ts';

/** Unpacks a package with these files. Returns its folder. */
async function unpack(files: readonly TarEntry[], overrides: Partial<FixtureDeb> = {}): Promise<string> {
  const tempFolder = mkdtempSync(join(tmpdir(), 'heddle-unpack-'));
  onTestFinished(() => rmSync(tempFolder, { recursive: true, force: true }));
  const path = join(tempFolder, 'a.deb');
  writeFileSync(path, overrides.servedBytes ?? debOf({ files, ...overrides }));
  const folder = join(tempFolder, 'tree');
  mkdirSync(folder);
  await unpackDeb(path, folder, 'The package a 1');
  return folder;
}

const octalModeOf = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);

describe('a package that is unpacked', () => {
  it.each([
    ['gzip', 'gz'],
    ['Zstandard', 'zst'],
    ['no', ''],
  ] as const)('has its files with %s compression', async (_name, compression) => {
    const folder = await unpack([{ path: './usr/bin/tool', mode: 0o755, content: 'x' }], {
      compression,
    });
    expect(readFileSync(join(folder, 'usr/bin/tool'), 'utf8')).toBe('x');
  });

  it('has its top-level folders in /usr, unchanged links, and no manuals', async () => {
    const folder = await unpack([
      { path: './bin/', type: '5' },
      { path: './bin/sh', type: '2', linkTarget: 'dash' },
      { path: './lib/x.so.1', content: 'lib' },
      { path: './lib/x.so', type: '1', linkTarget: './lib/x.so.1' },
      { path: './usr/share/man/man1/a.1', content: '' },
      { path: './usr/share/doc/a/changelog', content: '' },
      { path: './usr/share/doc/a/copyright', content: 'c' },
    ]);
    expect(readlinkSync(join(folder, 'usr/bin/sh'))).toBe('dash');
    expect(readFileSync(join(folder, 'usr/lib/x.so'), 'utf8')).toBe('lib');
    expect(
      ['bin', 'usr/share/man', 'usr/share/doc/a/changelog'].map((path) => existsSync(join(folder, path))),
    ).toEqual([false, false, false]);
    expect(readFileSync(join(folder, 'usr/share/doc/a/copyright'), 'utf8')).toBe('c');
  });

  it('has no setuid files', async () => {
    const folder = await unpack([
      { path: './usr/bin/su', mode: 0o6755, content: '' },
      { path: './etc/secret', mode: 0o600, content: '' },
    ]);
    expect([octalModeOf(join(folder, 'usr/bin/su')), octalModeOf(join(folder, 'etc/secret'))]).toEqual([
      '755',
      '644',
    ]);
  });

  it.each<[string, TarEntry[], RegExp]>([
    ['has a file whose path starts with ..', [{ path: '../evil', content: '' }], /leads out of the archive/],
    [
      'has a file whose path contains ..',
      [{ path: './usr/../../evil', content: '' }],
      /leads out of the archive/,
    ],
    [
      'has a link to a path outside of it',
      [{ path: './usr/x', type: '2', linkTarget: '../../../etc/passwd' }],
      /link usr\/x that leads out/,
    ],
    [
      'writes through its own link',
      [
        { path: './opt/x', type: '2', linkTarget: '/tmp' },
        { path: './opt/x/evil', content: '' },
      ],
      /files below opt\/x, which is not a folder/,
    ],
    [
      'has a hard link to a file outside of it',
      [{ path: './usr/x', type: '1', linkTarget: '/etc/passwd' }],
      /link usr\/x to a file that it does not contain/,
    ],
    ['has a device', [{ path: './dev/mem', type: '3' }], /not a file, folder or link/],
  ])('is refused if it %s', async (_description, files, message) => {
    await expect(unpack(files)).rejects.toMatchObject({
      code: 'unsupported_package',
      message: expect.stringMatching(message) as string,
    });
  });

  it.each([
    ['bytes of files', [{ path: './usr/a', content: 'x'.repeat(2_000) }]],
    ['bytes of excluded files', [{ path: './usr/share/man/a', content: 'x'.repeat(2_000) }]],
    ['files', Array.from({ length: 20 }, (_, index) => ({ path: `./usr/${index}`, content: '' }))],
  ])('is refused if it unpacks to more %s than allowed', async (_description, files) => {
    const tempFolder = mkdtempSync(join(tmpdir(), 'heddle-unpack-'));
    onTestFinished(() => rmSync(tempFolder, { recursive: true, force: true }));
    const path = join(tempFolder, 'a.deb');
    writeFileSync(path, debOf({ files }));
    const limits = { files: 10, bytes: 1_000 };
    await expect(unpackDeb(path, join(tempFolder, 'out'), 'The package', limits)).rejects.toMatchObject({
      code: 'image_too_large',
    });
  });

  it.each([
    ['not an archive', Buffer.from('hello')],
    ['truncated', Buffer.from('!<arch>\ndata.tar.gz     0           0     0     100644  999999    `\nxx')],
  ])('is refused if it is %s', async (_description, servedBytes) => {
    await expect(unpack([], { servedBytes })).rejects.toMatchObject({ code: 'integrity_error' });
  });

  it('is refused if its content is invalid', async () => {
    const deb = debOf({ files: [{ path: './a', content: 'a'.repeat(10_000) }] });
    deb.fill(0, deb.length - 40);
    await expect(unpack([], { servedBytes: deb })).rejects.toMatchObject({ code: 'integrity_error' });
  });
});

describe('xz', () => {
  /** `hello` and a newline, compressed and in Base64. */
  const HELLO_XZ = '/Td6WFoAAATm1rRGAgAhARYAAAB0L+WjAQAFaGVsbG8KAAAApWCX8ZT2/eAAAR4GwS+kHR+2830BAAAAAARZWg==';
  const options = { compression: '.xz', maxBytes: 100, name: 'The file' } as const;

  it('is unpacked', async () => {
    expect(await decompressText(Buffer.from(HELLO_XZ, 'base64'), options)).toBe('hello\n');
  });

  it.each([
    ['broken', Buffer.from('nothing at all'), 100, 'integrity_error'],
    ['too large', Buffer.from(HELLO_XZ, 'base64'), 3, 'image_too_large'],
  ])('is refused if it is %s', async (_description, bytes, maxBytes, code) => {
    await expect(decompressText(bytes, { ...options, maxBytes })).rejects.toMatchObject({ code });
  });
});
