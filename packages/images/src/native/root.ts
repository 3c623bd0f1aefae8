import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MERGED_FOLDERS } from './debian/unpack.ts';
import { HOME } from './tools/install-tool.ts';
import type { ImageSpec } from '../builder.ts';

/** What every root file system has: a shell, the usual tools, certificates, and the libraries of the engine's Node.js. */
const BASE = [
  // First, as the awk that the others ask for.
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

/** Packages that only the scripts of others need, which are never run. */
export const ASSUMED: ReadonlySet<string> = new Set([
  'adduser',
  'cdebconf',
  'debconf',
  'debconf-2.0',
  'dpkg',
  'init-system-helpers',
  'ucf',
]);

/** The Debian packages of an image besides those that its spec names. */
export function basePackages(spec: ImageSpec, needsPython: boolean): string[] {
  return [...BASE, ...(spec.language === 'python' || needsPython ? ['python3'] : [])];
}

/** Where runs lay their own, and where files are written once packages are there: made first, so that no package has a link in their place. */
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
  `${HOME}/boot`,
  `${HOME}/bin`,
  `${HOME}/tools`,
];

const FILES: Readonly<Record<string, string>> = {
  'etc/passwd': 'root:x:0:0:root:/root:/usr/sbin/nologin\nuser:x:65534:65534:user:/work:/bin/bash\n',
  'etc/group': 'root:x:0:\nuser:x:65534:\n',
  'etc/hosts': '127.0.0.1 localhost\n::1 localhost\n',
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\n',
  'etc/resolv.conf': '',
  // The place of the engine's own Node.js.
  'usr/local/bin/node': '',
};

/** Names that the scripts of packages would have made, where what they stand for is there. */
const NAMES: readonly (readonly [path: string, target: string])[] = [
  ['usr/bin/sh', 'dash'],
  ['usr/bin/awk', 'mawk'],
  ['usr/bin/which', 'which.debianutils'],
  ['usr/bin/python', 'python3'],
  ['usr/bin/cc', 'gcc'],
  ['usr/bin/c++', 'g++'],
];

/** Writes a file in one of FOLDERS; never into what is there, which is the store's. */
async function put(root: string, path: string, text: string): Promise<void> {
  await rm(join(root, path), { force: true });
  await writeFile(join(root, path), text, { flag: 'wx' });
}

/** One file of the certificates in the store of Debian, as programs look for it. */
async function bundleCertificates(root: string): Promise<void> {
  const folder = join(root, 'usr/share/ca-certificates/mozilla');
  const entries = await readdir(folder, { withFileTypes: true });
  // Files alone: a link would be followed on this host.
  const names = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith('.crt'))
    .map(({ name }) => name);
  const texts = await Promise.all(names.sort().map((name) => readFile(join(folder, name), 'utf8')));
  await put(root, 'etc/ssl/certs/ca-certificates.crt', texts.map((text) => `${text.trimEnd()}\n`).join(''));
}

/** Before packages are laid in: the links of the merged /usr, and the folders that no package may take. */
export async function createRoot(root: string): Promise<void> {
  await mkdir(root, { mode: 0o755 });
  await chmod(root, 0o755);
  for (const name of MERGED_FOLDERS) {
    await mkdir(join(root, 'usr', name), { recursive: true });
    await symlink(`usr/${name}`, join(root, name));
  }
  for (const name of FOLDERS) await mkdir(join(root, name), { recursive: true });
}

/** After packages are laid in: what their scripts would have made, and the places of what a run brings. */
export async function finishRoot(root: string): Promise<void> {
  for (const [path, text] of Object.entries(FILES)) await put(root, path, text);
  for (const [path, target] of NAMES) {
    if (existsSync(join(root, 'usr/bin', target)) && !existsSync(join(root, path)))
      await symlink(target, join(root, path));
  }
  await bundleCertificates(root);
}
