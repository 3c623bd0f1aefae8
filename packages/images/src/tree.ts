import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** Returns a file's SHA-256 in hexadecimal, and its size in bytes. */
export async function digestFile(path: string): Promise<{ sha256: string; size: number }> {
  const hash = createHash('sha256');
  let size = 0;
  await pipeline(createReadStream(path), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      size += chunk.length;
      hash.update(chunk);
    }
  });
  return { sha256: hash.digest('hex'), size };
}

/** Yields the paths of everything in a folder, sorted and relative to it. Links are not followed. */
async function* pathsIn(root: string, subfolder = ''): AsyncGenerator<string> {
  const names = (await readdir(join(root, subfolder))).sort();
  for (const name of names) {
    const path = subfolder === '' ? name : `${subfolder}/${name}`;
    yield path;
    const stat = await lstat(join(root, path));
    if (stat.isDirectory()) yield* pathsIn(root, path);
  }
}

/**
 * Returns the digest of a folder: it covers every name, type, mode, link target and content. `size` is the total size
 * of its files.
 */
export async function digestTree(root: string): Promise<{ sha256: string; size: number }> {
  const hash = createHash('sha256');
  let size = 0;
  for await (const path of pathsIn(root)) {
    const fullPath = join(root, path);
    const stat = await lstat(fullPath);
    const mode = (stat.mode & 0o7777).toString(8);
    let content = '';
    if (stat.isSymbolicLink()) content = `link ${JSON.stringify(await readlink(fullPath))}`;
    else if (stat.isFile()) {
      const fileDigest = await digestFile(fullPath);
      size += fileDigest.size;
      content = `file ${fileDigest.sha256}`;
    } else content = stat.isDirectory() ? 'folder' : 'other';
    hash.update(`${JSON.stringify(path)} ${mode} ${content}\n`);
  }
  return { sha256: hash.digest('hex'), size };
}

/** Returns the size of a file, or of all files in a folder, in bytes; links are not followed. */
export async function sizeOf(path: string): Promise<number> {
  const stat = await lstat(path);
  if (!stat.isDirectory()) return stat.size;
  let bytes = 0;
  for await (const innerPath of pathsIn(path)) {
    const innerStat = await lstat(join(path, innerPath));
    if (innerStat.isFile()) bytes += innerStat.size;
  }
  return bytes;
}
