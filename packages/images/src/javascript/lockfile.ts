import type { LockEntry } from '../builder.ts';
import { ImageError } from '../error.ts';

interface Installed {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly inBundle?: boolean;
  readonly hasInstallScript?: boolean;
  readonly optional?: boolean;
}

/** What npm needs to install the same again. */
export interface NpmLock {
  readonly packageJson: string;
  readonly lockfile: string;
}

/** Npm's lock, read again from a record of it. Throws ImageError integrity_error. */
export function readNpmLock(value: unknown): NpmLock {
  const { packageJson, lockfile } = (value ?? {}) as Partial<NpmLock>;
  if (typeof packageJson === 'string' && typeof lockfile === 'string') return { packageJson, lockfile };
  throw new ImageError(
    'integrity_error',
    'The lock of the image cannot be read. Build the image anew (--refresh).',
  );
}

/** npm's lockfile as far as it is read here. */
interface Lockfile {
  readonly packages?: Readonly<Record<string, Installed>>;
}

/** A package with scripts that npm would run when it installs it. */
export interface ScriptedPackage {
  readonly name: string;
  /** Its folder, from that of the project. */
  readonly path: string;
  /** Whether the others do without it. */
  readonly optional: boolean;
}

/** What a lockfile says, checked. */
export interface ReadLockfile {
  readonly entries: readonly LockEntry[];
  readonly scripted: readonly ScriptedPackage[];
}

const nameOf = (path: string): string =>
  path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** `sha512-<base64>` as `sha512:<hex>`, the strongest of several. */
function digestOf(integrity: string): string | null {
  const found = integrity
    .split(/\s+/)
    .map((part) => /^(sha512|sha384|sha256|sha1)-([A-Za-z0-9+/=]+)/.exec(part))
    .filter((match) => match !== null)
    .sort((a, b) => Number((b[1] as string).slice(3)) - Number((a[1] as string).slice(3)))[0];
  return found === undefined
    ? null
    : `${found[1]}:${Buffer.from(found[2] as string, 'base64').toString('hex')}`;
}

/**
 * The packages in a lockfile. Throws ImageError invalid_specifier for one that comes from elsewhere than a registry,
 * integrity_error for one without a digest.
 */
export function readLockfile(text: string): ReadLockfile {
  const { packages = {} } = JSON.parse(text) as Lockfile;
  const entries: LockEntry[] = [];
  const scripted: ScriptedPackage[] = [];
  for (const [path, installed] of Object.entries(packages)) {
    // What a package bundles comes with its own digest.
    if (path === '' || installed.inBundle === true) continue;
    const name = nameOf(path);
    const { version = '', resolved = '', integrity = '' } = installed;
    if (installed.link === true || !/^(?:https?:\/\/|$)/.test(resolved))
      throw new ImageError('invalid_specifier', `The package ${name} comes from elsewhere than a registry.`);
    const digest = digestOf(integrity);
    if (digest === null)
      throw new ImageError('integrity_error', `The registry gives no digest for ${name} ${version}.`);
    entries.push({ name, version, digest });
    if (installed.hasInstallScript === true)
      scripted.push({ name, path, optional: installed.optional === true });
  }
  return { entries, scripted };
}
