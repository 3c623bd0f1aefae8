import { statSync } from 'node:fs';
import { dirname } from 'node:path';

const READ_BY_OTHERS = 0o004;
const ENTER_BY_OTHERS = 0o001;

/** The file, or the folder above it, that keeps a user of no group from reading `path`; null where nothing does. */
export function barrierTo(path: string): string | null {
  const stat = statSync(path);
  const needed = stat.isDirectory() ? READ_BY_OTHERS | ENTER_BY_OTHERS : READ_BY_OTHERS;
  if ((stat.mode & needed) !== needed) return path;
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & ENTER_BY_OTHERS) === 0) return folder;
    if (folder === dirname(folder)) return null;
  }
}
