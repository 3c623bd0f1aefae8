import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Returns the nearest folder above this checkout that other users cannot enter; undefined if there is none. */
function findInaccessibleFolder(): string | undefined {
  for (let folder = fileURLToPath(new URL('.', import.meta.url)); ; folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return folder;
    if (folder === dirname(folder)) return undefined;
  }
}

const inaccessibleFolder = process.geteuid?.() === 0 ? findInaccessibleFolder() : undefined;
if (inaccessibleFolder !== undefined)
  process.stderr.write(
    `Tests of the sandbox skip other user ids and strict isolation: other users cannot enter ${inaccessibleFolder}, which contains Heddle.\n`,
  );

/** True if the users of sandbox processes can read this checkout. If not, this module prints the reason. */
export const isReadableByOthers = inaccessibleFolder === undefined;
