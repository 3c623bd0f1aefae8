import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { encodeWheel, formatWheelFilename } from './wheel.ts';

/** A project whose Python files are in a folder of its source archive. */
export interface SourceProject {
  readonly name: string;
  readonly version: string;
  /** The folder whose content is installed, relative to the top-level folder of the archive, such as `src`. */
  readonly folder: string;
}

interface IndexFile {
  readonly filename: string;
  readonly url: string;
  readonly hashes: { readonly sha256: string };
}

/** Returns the contents of the regular files of a tar archive, by path. */
function filesOf(tar: Buffer): Map<string, string> {
  const files = new Map<string, string>();
  const readText = (offset: number, length: number): string =>
    tar.toString('utf8', offset, offset + length).replace(/\0.*$/s, '');
  for (let offset = 0; offset + 512 <= tar.length && tar[offset] !== 0;) {
    const size = Number.parseInt(readText(offset + 124, 12), 8);
    const prefix = readText(offset + 257, 5) === 'ustar' ? readText(offset + 345, 155) : '';
    const path = prefix === '' ? readText(offset, 100) : `${prefix}/${readText(offset, 100)}`;
    if (['0', ''].includes(readText(offset + 156, 1)))
      files.set(path, tar.toString('utf8', offset + 512, offset + 512 + size));
    offset += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

/**
 * Writes a wheel of a project to `targetFolder`, from its source archive in the index with the URL `indexUrl`. An
 * operator does this for a wheelhouse if the project publishes wheels only for other platforms and runs without its
 * compiled parts.
 */
export async function writeSourceWheel(
  { name, version, folder }: SourceProject,
  indexUrl: string,
  targetFolder: string,
): Promise<void> {
  const page = await fetch(`${indexUrl}${name}/`, {
    headers: { accept: 'application/vnd.pypi.simple.v1+json' },
  });
  const { files } = (await page.json()) as { files: IndexFile[] };
  const sourceArchive = files.find(({ filename }) => filename === `${name}-${version}.tar.gz`);
  if (!sourceArchive) throw new Error(`The index has no source archive of ${name} ${version}.`);
  const bytes = Buffer.from(await (await fetch(sourceArchive.url)).arrayBuffer());
  if (createHash('sha256').update(bytes).digest('hex') !== sourceArchive.hashes.sha256)
    throw new Error('The source archive does not have the hash that the index publishes.');
  const root = `${name}-${version}/${folder}/`;
  const entries = [...filesOf(gunzipSync(bytes))].filter(
    ([path]) => path.startsWith(root) && path.endsWith('.py'),
  );
  const wheel = {
    name,
    version,
    files: Object.fromEntries(entries.map(([path, text]) => [path.slice(root.length), text])),
  };
  writeFileSync(join(targetFolder, formatWheelFilename(wheel)), encodeWheel(wheel));
}
