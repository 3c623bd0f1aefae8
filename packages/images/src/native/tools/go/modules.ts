import { createHash, randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { BuildContext } from '../../../builder.ts';
import { ImageError, isImageError } from '../../../error.ts';
import { withArchive } from '../../../python/wheels/archive.ts';
import { TreeWriter } from '../../archive/tree-writer.ts';
import { MAX_PACKAGE_BYTES, MAX_SIZE } from '../../limits.ts';
import type { GoModule } from '../recipe.ts';
import { fetchFromProxies } from './proxies.ts';

/** Options for unpacking a module. */
interface UnpackOptions {
  readonly folder: string;
  /** Returns whether the file at a path is unpacked; default: all files. */
  readonly includes?: (path: string) => boolean;
  /** Returns whether the file at a path is executable; default: none. */
  readonly isExecutable?: (path: string) => boolean;
}

const sha256 = (data: Uint8Array | string, encoding: 'hex' | 'base64' = 'hex'): string =>
  createHash('sha256').update(data).digest(encoding);

/** Escapes capital letters for URLs of module proxies, which may be on case-insensitive file systems. */
const escapeName = (name: string): string => name.replace(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`);

/** Returns the checksum of files, in the format of `go.sum`, from their names and digests. */
export function checksumOf(digests: readonly (readonly [name: string, sha256: string])[]): string {
  const lines = digests
    .toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map(([name, digest]) => `${digest}  ${name}\n`);
  return `h1:${sha256(lines.join(''), 'base64')}`;
}

/** Fetches the archive of a module, without verifying it. Returns its path. */
async function fetchModule({ path, version }: GoModule, context: BuildContext): Promise<string> {
  const proxyPath = `/${escapeName(path)}/@v/${escapeName(version)}.zip`;
  const { status, host, body } = await fetchFromProxies(proxyPath, MAX_PACKAGE_BYTES, context);
  if (status === 404 || status === 410)
    throw new ImageError('package_not_found', `${host} has no Go module ${path} ${version}.`);
  if (status !== 200)
    throw new ImageError(
      'registry_unavailable',
      `${host} responded with ${status} for the Go module ${path}.`,
    );
  const archivePath = join(context.workFolder, `module-${randomUUID()}.zip`);
  await writeFile(archivePath, body);
  return archivePath;
}

/**
 * Fetches a module and writes its files to a folder. Throws ImageError, for example integrity_error if the files do not
 * match the checksum.
 */
export async function unpackModule(
  module: GoModule,
  options: UnpackOptions,
  context: BuildContext,
): Promise<void> {
  const { folder, includes = () => true, isExecutable = () => false } = options;
  const name = `The Go module ${module.path} ${module.version}`;
  const archivePath = await fetchModule(module, context);
  await mkdir(folder, { recursive: true });
  const writer = new TreeWriter(folder, MAX_SIZE, name);
  const prefix = `${module.path}@${module.version}/`;
  const digests: [string, string][] = [];
  try {
    await withArchive(archivePath, async (files) => {
      for (const file of files) {
        context.signal.throwIfAborted();
        if (!file.path.startsWith(prefix))
          throw new ImageError(
            'unsupported_package',
            `The archive contains the file ${file.path.slice(0, 100)}, which does not belong to the module.`,
          );
        const bytes = await file.read();
        digests.push([file.path, sha256(bytes)]);
        const path = writer.relativePath(file.path.slice(prefix.length));
        if (!includes(path)) continue;
        const meta = { mode: isExecutable(path) ? 0o755 : 0o644, size: bytes.length };
        await writer.writeFile(path, Readable.from([bytes]), meta);
      }
    });
  } catch (error) {
    if (!isImageError(error) || error.message.startsWith(name)) throw error;
    throw new ImageError(error.code, `${name} cannot be unpacked. ${error.message}`, { cause: error });
  }
  const sum = checksumOf(digests);
  if (sum !== module.sum)
    throw new ImageError(
      'integrity_error',
      `${name} does not match its checksum: it is ${sum}, not ${module.sum}.`,
    );
}
