import { ImageError } from '../error.ts';
import type { PythonLockData } from '../python/lock.ts';
import type { NpmLock } from '../javascript/lockfile.ts';
import type { GoModule, GoSource } from './tools/recipe.ts';

/** A .deb in a lock. */
export interface LockedDeb {
  readonly name: string;
  readonly version: string;
  readonly url: string;
  /** SHA-256 of the .deb, hexadecimal. */
  readonly sha256: string;
}

/** The sources of a tool and the toolchain that compiles it. */
export interface LockedGoBuild {
  readonly toolchain: GoModule;
  readonly modules: readonly [GoSource, ...GoSource[]];
}

/** A tool in a lock, with the data that its kind of recipe needs. */
export interface LockedTool {
  readonly id: string;
  readonly npm?: NpmLock;
  readonly python?: PythonLockData;
  readonly go?: LockedGoBuild;
  /** Digest of the publisher's file, hexadecimal. */
  readonly sha256?: string;
}

/** The data of a native image's lock. */
export interface NativeLockData {
  readonly debs: readonly LockedDeb[];
  readonly python: PythonLockData | null;
  readonly npm: NpmLock | null;
  readonly tools: readonly LockedTool[];
  readonly warnings: readonly string[];
}

/** Returns the lock's data from a stored record. Throws ImageError integrity_error. */
export function readNativeLock(value: unknown): NativeLockData {
  const { debs, tools, warnings } = (value ?? {}) as Partial<NativeLockData>;
  if (Array.isArray(debs) && Array.isArray(tools) && Array.isArray(warnings)) return value as NativeLockData;
  throw new ImageError('integrity_error', 'The lock of the image cannot be read. Build the image again.');
}
