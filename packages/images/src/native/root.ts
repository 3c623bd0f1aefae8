import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MERGED_FOLDERS } from './debian/unpack.ts';
import { HEDDLE_FOLDER } from './tools/install-tool.ts';
import type { ImageSpec } from '../builder.ts';

/**
 * Packages of every root file system: a shell, common tools, certificates, and the libraries that the host's Node.js
 * needs.
 */
const BASE_PACKAGES = [
  // First, because other packages need an awk.
  'mawk',
  'base-files',
  'bash',
  'ca-certificates',
  'coreutils',
  'dash',
  'debianutils',
  'findutils',
  'grep',
  'gzip',
  'libc-bin',
  'libstdc++6',
  'sed',
  'tar',
];

/** Packages needed only by maintainer scripts, which never run. */
export const ASSUMED_PACKAGES: ReadonlySet<string> = new Set([
  'adduser',
  'cdebconf',
  'debconf',
  'debconf-2.0',
  'dpkg',
  'init-system-helpers',
  'ucf',
]);

/** Returns the Debian packages of an image in addition to those of its specification. */
export function basePackages(spec: ImageSpec, needsPython: boolean): string[] {
  return [...BASE_PACKAGES, ...(spec.language === 'python' || needsPython ? ['python3'] : [])];
}

/**
 * Mount points of runs, and folders for files that are written after unpacking. They are created before unpacking, so
 * that no package can have a link at these paths.
 */
const FOLDERS = [
  'dev',
  'proc',
  'run',
  'tmp',
  'work',
  'etc/ssl/certs',
  'usr/bin',
  'usr/local/bin',
  'usr/share/ca-certificates/mozilla',
  `${HEDDLE_FOLDER}/boot`,
  `${HEDDLE_FOLDER}/bin`,
  `${HEDDLE_FOLDER}/tools`,
];

const FILES: Readonly<Record<string, string>> = {
  'etc/passwd': 'root:x:0:0:root:/root:/usr/sbin/nologin\nuser:x:65534:65534:user:/work:/bin/bash\n',
  'etc/group': 'root:x:0:\nuser:x:65534:\n',
  'etc/hosts': '127.0.0.1 localhost\n::1 localhost\n',
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
  'etc/resolv.conf': '',
  // Mount point of the host's Node.js.
  'usr/local/bin/node': '',
};

/** Links that maintainer scripts would have created, if their targets exist. */
const LINKS: readonly (readonly [path: string, target: string])[] = [
  ['usr/bin/sh', 'dash'],
  ['usr/bin/awk', 'mawk'],
  ['usr/bin/which', 'which.debianutils'],
  ['usr/bin/python', 'python3'],
  ['usr/bin/cc', 'gcc'],
  ['usr/bin/c++', 'g++'],
];

/**
 * Writes a file in one of FOLDERS. An existing file is replaced, never written to, because it is shared with the store.
 */
async function replaceFile(root: string, path: string, text: string): Promise<void> {
  await rm(join(root, path), { force: true });
  await writeFile(join(root, path), text, { flag: 'wx' });
}

/** Joins the certificates of Debian's package into the single file that programs read. */
async function bundleCertificates(root: string): Promise<void> {
  const folder = join(root, 'usr/share/ca-certificates/mozilla');
  const entries = await readdir(folder, { withFileTypes: true });
  // Only regular files, since a link would be followed on this host.
  const names = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.crt'))
    .map(({ name }) => name);
  const texts = await Promise.all(names.sort().map((name) => readFile(join(folder, name), 'utf8')));
  const bundle = texts.map((text) => `${text.trimEnd()}\n`).join('');
  await replaceFile(root, 'etc/ssl/certs/ca-certificates.crt', bundle);
}

/** Prepares a root before unpacking: the links of the merged /usr, and folders that no package may replace. */
export async function createRoot(root: string): Promise<void> {
  await mkdir(root, { mode: 0o755 });
  await chmod(root, 0o755);
  for (const name of MERGED_FOLDERS) {
    await mkdir(join(root, 'usr', name), { recursive: true });
    await symlink(`usr/${name}`, join(root, name));
  }
  for (const name of FOLDERS) await mkdir(join(root, name), { recursive: true });
}

/** Completes a root after unpacking: files that maintainer scripts would have created, and mount points. */
export async function finishRoot(root: string): Promise<void> {
  for (const [path, text] of Object.entries(FILES)) await replaceFile(root, path, text);
  for (const [path, target] of LINKS) {
    if (existsSync(join(root, 'usr/bin', target)) && !existsSync(join(root, path)))
      await symlink(target, join(root, path));
  }
  await bundleCertificates(root);
}
