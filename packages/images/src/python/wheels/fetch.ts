import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildContext } from '../../builder.ts';
import { ImageError, isImageError } from '../../error.ts';
import type { LockedWheel } from '../lock.ts';
import { parseMetadata } from '../pep/metadata.ts';
import { digestOf } from '../sources/wheelhouse.ts';
import { type ArchiveFile, withArchive } from './archive.ts';
import { type WheelContents, contentsOf, startupWarning } from './contents.ts';
import { MAX_WHEEL_BYTES } from './limits.ts';
import { readMetadata } from './wheel-metadata.ts';

/** Fetches a locked wheel, verifies its digest, and returns its path. */
async function fetchWheel(wheel: LockedWheel, context: BuildContext): Promise<string> {
  if (wheel.source !== 'wheelhouse') {
    return (await context.fetchVerified(wheel.location, wheel.digest, { maxBytes: MAX_WHEEL_BYTES })).path;
  }
  const folder = context.registries.python?.wheelhouse;
  if (folder === undefined) {
    throw new ImageError(
      'registry_unavailable',
      `${wheel.filename} came from a wheelhouse, but none is configured: set registries.python.wheelhouse.`,
    );
  }
  const path = join(await realpath(folder), wheel.filename);
  const digest = await digestOf(path).catch((error: unknown) => {
    throw new ImageError('package_not_found', `${wheel.filename} is no longer in the wheelhouse.`, {
      cause: error,
    });
  });
  if (digest === wheel.digest) return path;
  throw new ImageError(
    'integrity_error',
    `${wheel.filename} in the wheelhouse does not match the lock: its digest is ${digest}.`,
  );
}

/** The result of unpacking wheels. */
export interface UnpackedWheels {
  /** Modules to import for each distribution, by canonical name. */
  readonly modules: ReadonlyMap<string, readonly string[]>;
  readonly warnings: readonly string[];
}

/** One wheel of an image. */
interface OpenWheel {
  readonly wheel: LockedWheel;
  readonly files: readonly ArchiveFile[];
  readonly contents: WheelContents;
}

/**
 * Fetches the wheels sequentially, and calls `onWheel` with the files of each. `activity` begins the progress message.
 */
export async function unpackWheels(
  wheels: readonly LockedWheel[],
  context: BuildContext,
  { activity, onWheel }: { activity: string; onWheel: (wheel: OpenWheel) => Promise<void> },
): Promise<UnpackedWheels> {
  const modules = new Map<string, readonly string[]>();
  const warnings: string[] = [];
  for (const wheel of wheels) {
    context.signal.throwIfAborted();
    context.reportProgress(`${activity} ${wheel.name} ${wheel.version}`);
    const path = await fetchWheel(wheel, context);
    await withWheel(wheel, path, async (files) => {
      const contents = contentsOf(files);
      modules.set(wheel.name, contents.modules);
      if (contents.startupFiles.length > 0) warnings.push(startupWarning(wheel.name, contents.startupFiles));
      await onWheel({ wheel, files, contents });
    });
  }
  return { modules, warnings };
}

/** Calls `use` with the files of a wheel after checking that it matches the lock. Errors name the wheel. */
async function withWheel<T>(
  wheel: LockedWheel,
  path: string,
  use: (files: readonly ArchiveFile[]) => Promise<T>,
): Promise<T> {
  try {
    return await withArchive(path, async (files) => {
      await checkMetadata(wheel, files);
      return use(files);
    });
  } catch (error) {
    if (!isImageError(error)) throw error;
    throw new ImageError(error.code, `${wheel.filename}: ${error.message}`, { cause: error });
  }
}

/**
 * Checks that the METADATA in a wheel has the locked requirements, which may come from a separate file of the index.
 * Throws ImageError integrity_error.
 */
async function checkMetadata({ requires }: LockedWheel, files: readonly ArchiveFile[]): Promise<void> {
  const metadata = parseMetadata(await readMetadata(files));
  if (metadata && JSON.stringify(metadata.requires) === JSON.stringify(requires)) return;
  throw new ImageError('integrity_error', 'Its requirements differ from those in the index.');
}
