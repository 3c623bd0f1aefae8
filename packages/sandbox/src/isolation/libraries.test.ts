import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { librariesOf, customFolders } from './libraries.ts';
import { findUnreadablePath } from './users.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'heddle-libraries-')));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.runIf(process.platform === 'linux')('the libraries of a program', () => {
  it('are its loader and everything that the loader loads', () => {
    const libraries = librariesOf(process.execPath, []);
    expect(libraries[0]).toMatch(/\/ld-(linux|musl)[^/]*\.so/);
    expect(libraries.slice(1)).toContainEqual(expect.stringMatching(/\/(libc\.so|libc\.musl)/));
    expect(new Set(libraries).size).toBe(libraries.length);
  });

  it('are none for a text file', () => {
    const file = join(folder, 'script');
    writeFileSync(file, '#!/bin/sh\n');
    expect(librariesOf(file, [])).toEqual([]);
  });

  it('are in custom folders if the loader does not search their folders by default', () => {
    const libraries = [
      '/lib64/ld-linux-x86-64.so.2',
      '/lib/x86_64-linux-gnu/libc.so.6',
      '/usr/lib64/libm.so.6',
    ];
    expect(customFolders(libraries)).toEqual([]);
    expect(customFolders([...libraries, '/opt/one/libz.so', '/opt/one/liby.so'])).toEqual(['/opt/one']);
  });
});

describe.runIf(process.platform !== 'win32')('the part of a path that other users cannot read', () => {
  it('is the file, a parent folder, or undefined', () => {
    const closedFolder = join(folder, 'closed');
    const file = join(closedFolder, 'deep', 'file');
    mkdirSync(join(closedFolder, 'deep'), { recursive: true });
    writeFileSync(file, '');
    expect(findUnreadablePath(file)).toBeUndefined();
    chmodSync(file, 0o600);
    expect(findUnreadablePath(file)).toBe(file);
    chmodSync(file, 0o644);
    chmodSync(closedFolder, 0o750);
    expect(findUnreadablePath(file)).toBe(closedFolder);
    expect(findUnreadablePath(closedFolder)).toBe(closedFolder);
  });
});
