import type { LockEntry } from '../builder.ts';
import { ImageError } from '../error.ts';

interface LockfilePackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly inBundle?: boolean;
  readonly hasInstallScript?: boolean;
  readonly optional?: boolean;
}

/** The data with which npm installs the same packages again. */
export interface NpmLock {
  readonly packageJson: string;
  readonly lockfile: string;
}

/** Returns npm's lock from the stored data of a lock. Throws ImageError integrity_error. */
export function readNpmLock(value: unknown): NpmLock {
  const { packageJson, lockfile } = (value ?? {}) as Partial<NpmLock>;
  if (typeof packageJson === 'string' && typeof lockfile === 'string') return { packageJson, lockfile };
  throw new ImageError(
    'integrity_error',
    'The lock of the image cannot be read. Build the image again (--refresh).',
  );
}

/** The part of npm's lockfile that is read. */
interface Lockfile {
  readonly packages?: Readonly<Record<string, LockfilePackage>>;
}

/** A package with install scripts. */
export interface ScriptedPackage {
  readonly name: string;
  /** Its folder relative to the project. */
  readonly path: string;
  /** True if the other packages work without it. */
  readonly optional: boolean;
}

/** The verified content of a lockfile. */
export interface LockfileContent {
  readonly entries: readonly LockEntry[];
  readonly scriptedPackages: readonly ScriptedPackage[];
}

const nameOf = (path: string): string =>
  path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);

/** Converts `sha512-<base64>` to `sha512:<hex>`; uses the strongest of several hashes. */
function digestOf(integrity: string): string | undefined {
  const strongestMatch = integrity
    .split(/\s+/)
    .map((hash) => /^(sha512|sha384|sha256|sha1)-([A-Za-z0-9+/=]+)/.exec(hash))
    .filter((match) => match !== null)
    .sort((a, b) => Number((b[1] as string).slice(3)) - Number((a[1] as string).slice(3)))[0];
  return strongestMatch === undefined
    ? undefined
    : `${strongestMatch[1]}:${Buffer.from(strongestMatch[2] as string, 'base64').toString('hex')}`;
}

/**
 * Returns the packages in a lockfile. Throws ImageError invalid_specifier for a package that does not come from a
 * registry, integrity_error for one without a digest.
 */
export function readLockfile(text: string): LockfileContent {
  const { packages = {} } = JSON.parse(text) as Lockfile;
  const entries: LockEntry[] = [];
  const scriptedPackages: ScriptedPackage[] = [];
  for (const [path, lockfilePackage] of Object.entries(packages)) {
    // Bundled packages are covered by the digest of the package that contains them.
    if (path === '' || lockfilePackage.inBundle === true) continue;
    const name = nameOf(path);
    const { version = '', resolved = '', integrity = '' } = lockfilePackage;
    if (lockfilePackage.link === true || !/^(?:https?:\/\/|$)/.test(resolved))
      throw new ImageError('invalid_specifier', `The package ${name} does not come from a registry.`);
    const digest = digestOf(integrity);
    if (digest === undefined)
      throw new ImageError('integrity_error', `The registry provides no digest for ${name} ${version}.`);
    entries.push({ name, version, digest });
    if (lockfilePackage.hasInstallScript === true)
      scriptedPackages.push({ name, path, optional: lockfilePackage.optional === true });
  }
  return { entries, scriptedPackages };
}
