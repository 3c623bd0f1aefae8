import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildContext } from '../../builder.ts';
import { ImageError, isImageError } from '../../error.ts';
import type { LockedWheel } from '../lock.ts';
import { parseMetadata } from '../pep/metadata.ts';
import { digestOf } from '../sources/wheelhouse.ts';
import { type ArchiveFile, withArchive } from './archive.ts';
import { MAX_WHEEL_BYTES } from './limits.ts';
import { metadataAmong } from './wheel-metadata.ts';

/** The path of a locked wheel, its digest verified. */
export async function fetchWheel(wheel: LockedWheel, context: BuildContext): Promise<string> {
  if (wheel.source !== 'wheelhouse') {
    return (await context.fetchVerified(wheel.location, wheel.digest, { maxBytes: MAX_WHEEL_BYTES })).path;
  }
  const folder = context.registries.python?.wheelhouse;
  if (folder === undefined) {
    throw new ImageError(
      'registry_unavailable',
      `${wheel.filename} came from a folder of wheels, and none is configured now.`,
    );
  }
  const path = join(await realpath(folder), wheel.filename);
  const digest = await digestOf(path).catch((error: unknown) => {
    throw new ImageError('package_not_found', `${wheel.filename} is no longer in the folder of wheels.`, {
      cause: error,
    });
  });
  if (digest === wheel.digest) return path;
  throw new ImageError(
    'integrity_error',
    `${wheel.filename} in the folder of wheels is not the one of the lock: its digest is ${digest}.`,
  );
}

/** What `use` makes of the files of a wheel that is what the lock says. Errors name the wheel. */
export async function withWheel<T>(
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

/** Metadata may have been read beside the wheel or in parts; what is installed has to ask for the same. */
async function checkMetadata({ requires }: LockedWheel, files: readonly ArchiveFile[]): Promise<void> {
  const metadata = parseMetadata(await metadataAmong(files));
  if (metadata && JSON.stringify(metadata.requires) === JSON.stringify(requires)) return;
  throw new ImageError('integrity_error', 'It asks for other packages than the index says of it.');
}
