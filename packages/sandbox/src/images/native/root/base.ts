import type { ImageSpec } from '../../builder.ts';

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
