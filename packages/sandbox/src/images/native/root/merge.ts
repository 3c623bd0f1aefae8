import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { TreeWriter } from '../archive/tree-writer.ts';

/** Lays a tree of the store into another: folders and links are made anew, files are the same ones. */
export async function mergeTree(from: string, writer: TreeWriter, inner = ''): Promise<void> {
  for (const name of (await readdir(join(from, inner))).sort()) {
    const path = inner === '' ? name : `${inner}/${name}`;
    const full = join(from, path);
    const stat = await lstat(full);
    if (stat.isDirectory()) {
      await writer.folder(path);
      await mergeTree(from, writer, path);
    } else if (stat.isSymbolicLink()) await writer.link(path, await readlink(full));
    else await writer.adopt(path, full, stat.size);
  }
}
