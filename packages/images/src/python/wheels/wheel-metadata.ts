import type { RandomAccessReader } from 'yauzl';
import { ImageError } from '../../error.ts';
import { type ArchiveFile, withArchive } from './archive.ts';

const MAX_BYTES = 4 * 2 ** 20;

/** The METADATA of a wheel in a file. */
export async function metadataInFile(path: string): Promise<string> {
  return withArchive(path, metadataAmong);
}

/** The METADATA of a wheel of which parts can be read. */
export async function metadataInReader(reader: RandomAccessReader, size: number): Promise<string> {
  return withArchive({ reader, size }, metadataAmong);
}

/** The text of the one METADATA file at the top of a wheel. */
export async function metadataAmong(files: readonly ArchiveFile[]): Promise<string> {
  const found = files.filter(({ path }) => /^[^/]+\.dist-info\/METADATA$/.test(path));
  const [file] = found;
  if (!file || found.length > 1 || file.size > MAX_BYTES) {
    throw new ImageError(
      'unsupported_package',
      'The archive is not a wheel: it has no METADATA, or several.',
    );
  }
  return (await file.read()).toString('utf8');
}
