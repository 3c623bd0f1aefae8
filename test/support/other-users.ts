import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder that keeps other users out of this checkout. */
function closedFolder(): string | undefined {
  for (let folder = fileURLToPath(new URL('.', import.meta.url)); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

const closed = process.geteuid?.() === 0 ? closedFolder() : undefined;
if (closed !== undefined)
  process.stderr.write(
    `No process of the sandbox is another user or in strict isolation: others cannot pass ${closed}, where Heddle is.\n`,
  );

/** True where the users that a sandbox's processes become can read this checkout; where not, the reason has been printed. */
export const othersPass = closed === undefined;
