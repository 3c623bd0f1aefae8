import { buffer } from 'node:stream/consumers';
import {
  type Entry,
  fromRandomAccessReaderPromise,
  openPromise,
  type RandomAccessReader,
  type ZipFile,
} from 'yauzl';
import { ImageError } from '../../error.ts';
import { MAX_COMPRESSION_RATIO, MAX_SITE_BYTES, MAX_FILES, SMALL_ENTRY_BYTES } from './limits.ts';

/** A file in an archive; it is read on demand. */
export interface ArchiveFile {
  /** Relative path with slashes, without `.` and `..`. */
  readonly path: string;
  /** Size in bytes from the archive's directory. Reading fails if the file is larger. */
  readonly size: number;
  read(): Promise<Buffer>;
}

/** Options with which yauzl verifies the names and sizes of files. */
const STRICT_OPTIONS = {
  lazyEntries: true,
  autoClose: false,
  strictFileNames: true,
  validateEntrySizes: true,
};

const MADE_BY_UNIX = 3;
const FILE_TYPE_MASK = 0o170000;
const REGULAR_FILE = 0o100000;

/**
 * Calls `use` with the files of an untrusted zip archive. Refuses paths that lead out of the archive, links,
 * encryption, duplicate names and zip bombs.
 * @throws ImageError unsupported_package, image_too_large.
 */
export async function withArchive<T>(
  source: string | { readonly reader: RandomAccessReader; readonly size: number },
  use: (files: readonly ArchiveFile[]) => Promise<T>,
): Promise<T> {
  const zip = await open(source);
  try {
    const files = await filesOf(zip);
    return await use(files);
  } finally {
    zip.close();
  }
}

async function open(source: Parameters<typeof withArchive>[0]): Promise<ZipFile> {
  return withImageErrors(async () =>
    typeof source === 'string'
      ? openPromise(source, STRICT_OPTIONS)
      : fromRandomAccessReaderPromise(source.reader, source.size, STRICT_OPTIONS),
  );
}

async function filesOf(zip: ZipFile): Promise<ArchiveFile[]> {
  if (zip.entryCount > MAX_FILES) throw tooLargeError(`more than ${MAX_FILES} files`);
  return withImageErrors(async () => {
    const files: ArchiveFile[] = [];
    const paths = new Set<string>();
    let totalBytes = 0;
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName.endsWith('/')) continue;
      checkEntry(entry);
      totalBytes += entry.uncompressedSize;
      if (totalBytes > MAX_SITE_BYTES)
        throw tooLargeError(`more than ${MAX_SITE_BYTES / 2 ** 20} MiB unpacked`);
      if (paths.has(entry.fileName)) throw unsupportedError(`has the file ${quotedName(entry)} twice`);
      paths.add(entry.fileName);
      files.push({ path: entry.fileName, size: entry.uncompressedSize, read: () => read(zip, entry) });
    }
    return files;
  });
}

function checkEntry(entry: Entry): void {
  const { fileName, compressedSize, uncompressedSize, versionMadeBy, externalFileAttributes } = entry;
  if (
    fileName.split('/').some((segment) => segment === '' || segment === '.' || segment === '..') ||
    /[\0-\x1f]/.test(fileName)
  ) {
    throw unsupportedError(`has a file with the name ${quotedName(entry)}`);
  }
  const type = (externalFileAttributes >>> 16) & FILE_TYPE_MASK;
  if (versionMadeBy >> 8 === MADE_BY_UNIX && type !== 0 && type !== REGULAR_FILE)
    throw unsupportedError(`has a link or device ${quotedName(entry)}`);
  if (!entry.canDecodeFileData())
    throw unsupportedError(
      `has the file ${quotedName(entry)}, which is encrypted or has an unsupported compression`,
    );
  if (uncompressedSize > SMALL_ENTRY_BYTES && uncompressedSize > compressedSize * MAX_COMPRESSION_RATIO) {
    throw tooLargeError(
      `the file ${quotedName(entry)}, which unpacks to more than ${MAX_COMPRESSION_RATIO} times its size`,
    );
  }
}

async function read(zip: ZipFile, entry: Entry): Promise<Buffer> {
  return withImageErrors(async () => buffer(await zip.openReadStreamPromise(entry)));
}

/** Converts the library's errors, which are plain Errors, to ImageError. Other errors pass unchanged. */
async function withImageErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isLibraryError = error instanceof Error && error.constructor === Error && !('code' in error);
    if (!isLibraryError) throw error;
    throw unsupportedError(`is invalid: ${error.message}`, error);
  }
}

function quotedName({ fileName }: Entry): string {
  return JSON.stringify(fileName.slice(0, 100));
}

function unsupportedError(problem: string, cause?: Error): ImageError {
  return new ImageError('unsupported_package', `The archive ${problem}.`, cause && { cause });
}

function tooLargeError(excess: string): ImageError {
  return new ImageError('image_too_large', `The archive has ${excess}.`);
}
