import type { RandomAccessReader } from 'yauzl';
import { ImageError } from '../../error.ts';
import { type ArchiveFile, withArchive } from './archive.ts';

const MAX_BYTES = 4 * 2 ** 20;

/** Returns the METADATA of a wheel file. */
export async function readMetadataFromFile(path: string): Promise<string> {
  return withArchive(path, readMetadata);
}

/** Returns the METADATA of a wheel that is read in parts. */
export async function readMetadataFromReader(reader: RandomAccessReader, size: number): Promise<string> {
  return withArchive({ reader, size }, readMetadata);
}

/** Returns the text of the only METADATA file of a wheel. */
export async function readMetadata(files: readonly ArchiveFile[]): Promise<string> {
  const metadataFiles = files.filter(({ path }) => /^[^/]+\.dist-info\/METADATA$/.test(path));
  const [file] = metadataFiles;
  if (!file || metadataFiles.length > 1 || file.size > MAX_BYTES) {
    throw new ImageError(
      'unsupported_package',
      'The archive is not a wheel: it does not contain exactly one METADATA file of at most 4 MiB.',
    );
  }
  return (await file.read()).toString('utf8');
}
