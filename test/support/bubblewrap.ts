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
import { libraryFoldersOf, requireTool, type FoundTool } from '../tools/fetch.ts';
import { isReadableByOthers } from './other-users.ts';

/** Copies a fetched tree to `home`, and adds a script `bwrap` that sets the path of the libraries of the tree. */
function copyTo(home: string, path: string, tree: string): void {
  const scratch = mkdtempSync(`${home}.`);
  try {
    chmodSync(scratch, 0o755);
    cpSync(tree, join(scratch, 'tree'), { recursive: true, verbatimSymlinks: true });
    const libraryFolders = libraryFoldersOf(tree).map((folder) => join(home, 'tree', relative(tree, folder)));
    const program = join(home, 'tree', relative(tree, path));
    const script = `#!/bin/sh\nLD_LIBRARY_PATH=${libraryFolders.join(':')} exec ${program} "$@"\n`;
    writeFileSync(join(scratch, 'bwrap'), script, { mode: 0o755 });
    chmodSync(join(scratch, 'bwrap'), 0o755);
    // Another process of the tests may have created it first.
    if (!existsSync(home)) renameSync(scratch, home);
  } catch (error) {
    if (!existsSync(home)) throw error;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/**
 * Returns the path of a copy that all users can read. The folder of the copy depends on the version of the tree, so
 * that each version is copied once.
 */
function copyOf({ path, tree }: FoundTool & { tree: string }): string {
  const user = process.getuid?.() ?? 0;
  const home = join(tmpdir(), `heddle-bubblewrap-${user}-${Math.trunc(statSync(path).ctimeMs)}`);
  if (!existsSync(home)) copyTo(home, path, tree);
  if (statSync(home).uid !== user) throw new Error(`${home} belongs to another user; remove it.`);
  return join(home, 'bwrap');
}

/**
 * Returns the path of a bubblewrap that any user can run with an empty environment, as a sandbox starts it; undefined
 * if the machine has none, or if other users cannot enter this checkout. A fetched bubblewrap is in the cache of this
 * user, so it is copied to a folder that all users can read.
 */
export function bubblewrap(): string | undefined {
  if (!isReadableByOthers) return undefined;
  const tool = requireTool('bubblewrap');
  return tool?.tree === undefined ? tool?.path : copyOf({ ...tool, tree: tool.tree });
}
