import type { RandomAccessReader } from 'yauzl';
import { ImageError } from '../../error.ts';
import { type ArchiveFile, withArchive } from './archive.ts';

const MAX_BYTES = 4 * 2 ** 20;

/** Returns the METADATA of a wheel file. */
export async function metadataInFile(path: string): Promise<string> {
  return withArchive(path, metadataAmong);
}

/** Returns the METADATA of a wheel that is read in parts. */
export async function metadataInReader(reader: RandomAccessReader, size: number): Promise<string> {
  return withArchive({ reader, size }, metadataAmong);
}

/** Returns the text of the only METADATA file of a wheel. */
export async function metadataAmong(files: readonly ArchiveFile[]): Promise<string> {
  const found = files.filter(({ path }) => /^[^/]+\.dist-info\/METADATA$/.test(path));
  const [file] = found;
  if (!file || found.length > 1 || file.size > MAX_BYTES) {
    throw new ImageError(
      'unsupported_package',
      'The archive is not a wheel: it does not contain exactly one METADATA file of at most 4 MiB.',
    );
  }
  return (await file.read()).toString('utf8');
}
