import { ImageError } from '../error.ts';
import type { PythonLockData } from '../python/lock.ts';
import type { NpmLock } from '../javascript/lockfile.ts';
import type { GoModule, GoSource } from './tools/recipe.ts';

/** One .deb of a lock. */
export interface LockedDeb {
  readonly name: string;
  readonly version: string;
  readonly url: string;
  /** Hexadecimal. */
  readonly sha256: string;
}

/** What a tool is compiled from, and by what. */
export interface LockedGo {
  readonly toolchain: GoModule;
  readonly modules: readonly [GoSource, ...GoSource[]];
}

/** One tool of a lock; what it is made of, by the kind of its recipe. */
export interface LockedTool {
  readonly id: string;
  readonly npm?: NpmLock;
  readonly python?: PythonLockData;
  readonly go?: LockedGo;
  /** Of the publisher's file, hexadecimal. */
  readonly sha256?: string;
}

/** What the lock of a native image keeps besides its entries. */
export interface NativeLockData {
  readonly debs: readonly LockedDeb[];
  readonly python: PythonLockData | null;
  readonly npm: NpmLock | null;
  readonly tools: readonly LockedTool[];
  readonly warnings: readonly string[];
}

/** The lock's data, read again from a record of it. Throws ImageError integrity_error. */
export function readNativeLock(value: unknown): NativeLockData {
  const { debs, tools, warnings } = (value ?? {}) as Partial<NativeLockData>;
  if (Array.isArray(debs) && Array.isArray(tools) && Array.isArray(warnings)) return value as NativeLockData;
  throw new ImageError('integrity_error', 'The lock of the image cannot be read. Build the image anew.');
}
