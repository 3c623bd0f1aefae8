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
import { askProxies } from './proxies.ts';

/** What is taken of a module, by paths in it. */
interface Taking {
  readonly folder: string;
  /** Default: everything. */
  readonly takes?: (path: string) => boolean;
  /** What may be run; default: nothing. */
  readonly runs?: (path: string) => boolean;
}

const sha256 = (data: Uint8Array | string, encoding: 'hex' | 'base64' = 'hex'): string =>
  createHash('sha256').update(data).digest(encoding);

/** A name in a URL of a module proxy: it may be one of a file system that knows no capitals. */
const escaped = (name: string): string => name.replace(/[A-Z]/g, (letter) => `!${letter.toLowerCase()}`);

/** The sum of files by name and SHA-256, as it stands in `go.sum`. */
export function sumOf(digests: readonly (readonly [name: string, sha256: string])[]): string {
  const lines = digests
    .toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map(([name, digest]) => `${digest}  ${name}\n`);
  return `h1:${sha256(lines.join(''), 'base64')}`;
}

/** The archive of a module, not checked yet. */
async function fetchModule({ path, version }: GoModule, context: BuildContext): Promise<string> {
  const place = `/${escaped(path)}/@v/${escaped(version)}.zip`;
  const { status, host, body } = await askProxies(place, MAX_PACKAGE_BYTES, context);
  if (status === 404 || status === 410)
    throw new ImageError('package_not_found', `${host} has no Go module ${path} ${version}.`);
  if (status !== 200)
    throw new ImageError('registry_unavailable', `${host} answered ${status} for the Go module ${path}.`);
  const file = join(context.workFolder, `module-${randomUUID()}.zip`);
  await writeFile(file, body);
  return file;
}

/** Fetches a module, and writes its files to a folder. Throws ImageError, such as integrity_error for other files than announced. */
export async function unpackModule(module: GoModule, taking: Taking, context: BuildContext): Promise<void> {
  const { folder, takes = () => true, runs = () => false } = taking;
  const name = `The Go module ${module.path} ${module.version}`;
  const archive = await fetchModule(module, context);
  await mkdir(folder, { recursive: true });
  const writer = new TreeWriter(folder, MAX_SIZE, name);
  const prefix = `${module.path}@${module.version}/`;
  const digests: [string, string][] = [];
  try {
    await withArchive(archive, async (files) => {
      for (const file of files) {
        context.signal.throwIfAborted();
        if (!file.path.startsWith(prefix))
          throw new ImageError('unsupported_package', `The archive has the file ${file.path.slice(0, 100)}.`);
        const bytes = await file.read();
        digests.push([file.path, sha256(bytes)]);
        const path = writer.path(file.path.slice(prefix.length));
        if (!takes(path)) continue;
        const meta = { mode: runs(path) ? 0o755 : 0o644, size: bytes.length };
        await writer.file(path, Readable.from([bytes]), meta);
      }
    });
  } catch (error) {
    if (!isImageError(error) || error.message.startsWith(name)) throw error;
    throw new ImageError(error.code, `${name} cannot be unpacked. ${error.message}`, { cause: error });
  }
  const sum = sumOf(digests);
  if (sum !== module.sum)
    throw new ImageError(
      'integrity_error',
      `${name} is not the one that was announced: its sum is ${sum}, not ${module.sum}.`,
    );
}
