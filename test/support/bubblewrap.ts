import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { libraries, requireTool } from '../tools/fetch.ts';

let path: string | undefined;

/**
 * The path of a bubblewrap that any user can run with an empty environment, as a sandbox starts it, or undefined where
 * the machine has none. What was fetched stands in the cache of this user, so it is copied to where all can read.
 */
export function bubblewrap(): string | undefined {
  if (path !== undefined) return path;
  const found = requireTool('bubblewrap');
  if (found?.tree === undefined) return found?.path;
  const folder = mkdtempSync(join(tmpdir(), 'heddle-bubblewrap-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  const tree = join(folder, 'tree');
  cpSync(found.tree, tree, { recursive: true, verbatimSymlinks: true });
  path = join(folder, 'bwrap');
  const program = join(tree, relative(found.tree, found.path));
  writeFileSync(path, `#!/bin/sh\nLD_LIBRARY_PATH=${libraries(tree).join(':')} exec ${program} "$@"\n`);
  chmodSync(path, 0o755);
  return path;
}
