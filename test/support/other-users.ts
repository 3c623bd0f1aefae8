import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Returns the folder that other users cannot pass on the way to this checkout; undefined if there is none. */
function closedFolder(): string | undefined {
  for (let folder = fileURLToPath(new URL('.', import.meta.url)); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

const closed = process.geteuid?.() === 0 ? closedFolder() : undefined;
if (closed !== undefined)
  process.stderr.write(
    `The sandbox runs without other users and strict isolation: other users cannot pass ${closed}, which contains Heddle.\n`,
  );

/** True if the users of sandbox processes can read this checkout; otherwise the reason is printed. */
export const othersPass = closed === undefined;
