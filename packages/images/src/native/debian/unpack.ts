import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { extract, type Header } from 'tar-stream';
import { ImageError, isImageError } from '../../error.ts';
import { compressionOf, decompress } from '../archive/decompress.ts';
import { TreeWriter, type TreeLimits } from '../archive/tree-writer.ts';
import { MAX_SIZE } from '../limits.ts';

const MAGIC = '!<arch>\n';
const HEADER_BYTES = 60;

/** A member of an `ar` archive. */
interface ArMember {
  readonly name: string;
  /** A view of the archive's bytes. */
  readonly bytes: Uint8Array;
}

/** Returns the members of an `ar` archive, or undefined if the bytes are not one. */
function readAr(bytes: Uint8Array): ArMember[] | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.toString('latin1', 0, MAGIC.length) !== MAGIC) return undefined;
  const members: ArMember[] = [];
  for (let offset = MAGIC.length; offset < buffer.length;) {
    if (offset + HEADER_BYTES > buffer.length) return undefined;
    const header = buffer.toString('latin1', offset, offset + HEADER_BYTES);
    const size = Number(header.slice(48, 58));
    const start = offset + HEADER_BYTES;
    if (!header.endsWith('`\n') || !Number.isSafeInteger(size) || size < 0 || start + size > buffer.length)
      return undefined;
    members.push({
      name: header.slice(0, 16).trim().replace(/\/$/, ''),
      bytes: buffer.subarray(start, start + size),
    });
    // Members start at even offsets.
    offset = start + size + (size % 2);
  }
  return members;
}

/** Top-level folders that are links to folders in /usr (the merged /usr of Debian since 12). */
export const MERGED_FOLDERS = ['bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32'];

const MERGED_FOLDER_PATTERN = new RegExp(`^(?:${MERGED_FOLDERS.join('|')})(?=/|$)`);

/** Files that are useless in a sandbox. Copyright files remain, because licences require them. */
const EXCLUDED_FILES =
  /^usr\/share\/(?:(?:man|info|locale|lintian|linda|bug)(?:\/|$)|doc\/(?!.*\/copyright$))/;

/** Returns the path of a package's file with /usr merged, or undefined if it is excluded. */
function mergedPath(path: string): string | undefined {
  const merged = path.replace(MERGED_FOLDER_PATTERN, (folder) => `usr/${folder}`);
  return merged === '' || EXCLUDED_FILES.test(merged) ? undefined : merged;
}

async function writeEntry(writer: TreeWriter, header: Header, content: Readable): Promise<void> {
  const { name, type, mode, size } = header;
  // The links of the merged /usr are created once, for all packages.
  if (MERGED_FOLDERS.includes(name.replace(/^\.?\/|\/$/g, ''))) return;
  const path = mergedPath(writer.relativePath(name));
  if (path === undefined) return writer.skip(size);
  const target = header.linkname ?? '';
  if (type === 'directory') return writer.createFolder(path);
  if (type === 'file' || type === 'contiguous-file') return writer.writeFile(path, content, { mode, size });
  if (type === 'symlink') return writer.writeSymlink(path, target);
  if (type !== 'link')
    throw new ImageError('unsupported_package', `It contains ${path}, which is not a file, folder or link.`);
  const existingPath = mergedPath(writer.relativePath(target));
  if (existingPath !== undefined) await writer.writeHardLink(path, existingPath);
}

/**
 * Unpacks the files of a .deb below a folder; its scripts are not run. Error messages begin with `name`.
 * @throws ImageError integrity_error for an invalid package, unsupported_package for paths that lead out of the folder
 * and for devices, image_too_large.
 */
export async function unpackDeb(
  path: string,
  folder: string,
  name: string,
  limits: TreeLimits = MAX_SIZE,
): Promise<void> {
  const members = readAr(await readFile(path));
  const data = members?.find((member) => /^data\.tar(?:\.|$)/.test(member.name));
  const compression = data && compressionOf(data.name.slice('data.tar'.length));
  if (data === undefined || compression === undefined)
    throw new ImageError('integrity_error', `${name} is not a readable Debian package.`);
  const writer = new TreeWriter(folder, limits, name);
  const tar = extract();
  const source = decompress(data.bytes, compression);
  source.on('error', (error) => tar.destroy(error));
  source.pipe(tar);
  try {
    for await (const entry of tar) {
      await writeEntry(writer, entry.header, entry as unknown as Readable);
      entry.resume();
    }
  } catch (error) {
    source.destroy();
    if (isImageError(error)) throw error;
    if (error instanceof Error && 'syscall' in error) throw error;
    throw new ImageError('integrity_error', `${name} cannot be unpacked: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
