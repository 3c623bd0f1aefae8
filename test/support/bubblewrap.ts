import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { libraryFoldersOf, resolveTool, type FoundTool } from '../tools/fetch.ts';
import { isReadableByOthers } from './other-users.ts';

/** Copies a fetched tree to `destination`, and adds a script `bwrap` that sets LD_LIBRARY_PATH for the tree. */
function copyTree(destination: string, path: string, tree: string): void {
  const scratchFolder = mkdtempSync(`${destination}.`);
  try {
    chmodSync(scratchFolder, 0o755);
    cpSync(tree, join(scratchFolder, 'tree'), { recursive: true, verbatimSymlinks: true });
    const libraryFolders = libraryFoldersOf(tree).map((folder) =>
      join(destination, 'tree', relative(tree, folder)),
    );
    const program = join(destination, 'tree', relative(tree, path));
    const script = `#!/bin/sh\nLD_LIBRARY_PATH=${libraryFolders.join(':')} exec ${program} "$@"\n`;
    writeFileSync(join(scratchFolder, 'bwrap'), script, { mode: 0o755 });
    chmodSync(join(scratchFolder, 'bwrap'), 0o755);
    // Another test process may have created the destination first.
    if (!existsSync(destination)) renameSync(scratchFolder, destination);
  } catch (error) {
    if (!existsSync(destination)) throw error;
  } finally {
    rmSync(scratchFolder, { recursive: true, force: true });
  }
}

/**
 * Returns the path of a copy that all users can read. The folder of the copy depends on the version of the tree, so
 * that each version is copied once.
 */
function ensureReadableCopy({ path, tree }: FoundTool & { tree: string }): string {
  const user = process.getuid?.() ?? 0;
  const destination = join(tmpdir(), `heddle-bubblewrap-${user}-${Math.trunc(statSync(path).ctimeMs)}`);
  if (!existsSync(destination)) copyTree(destination, path, tree);
  if (statSync(destination).uid !== user)
    throw new Error(`${destination} belongs to another user; remove it.`);
  return join(destination, 'bwrap');
}

/**
 * Returns the path of a bubblewrap that any user can run with an empty environment, as a sandbox starts it; undefined
 * if the machine has none, or if other users cannot enter this checkout. A fetched bubblewrap is in the cache of this
 * user, so it is copied to a folder that all users can read.
 */
export function findBubblewrap(): string | undefined {
  if (!isReadableByOthers) return undefined;
  const tool = resolveTool('bubblewrap');
  return tool?.tree === undefined ? tool?.path : ensureReadableCopy({ ...tool, tree: tool.tree });
}
