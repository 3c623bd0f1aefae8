import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs';
import type { Dirent, Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const PRIVATE_FOLDER = 0o700;
/** Others may pass the folder to what they may read in it, and see neither names nor other files. */
const PASSABLE_FOLDER = 0o711;
const PRIVATE_FILE = 0o600;
const PERMISSIONS = 0o777;
const OTHERS = 0o077;
const STICKY = 0o1000;

/** What stands in a data folder, made by Heddle. */
const DATABASES = ['heddle.db', 'api.db'].flatMap((name) =>
  ['', '-wal', '-shm', '-journal'].map((end) => name + end),
);
const FILES = [
  ...DATABASES,
  'lock.db',
  'lock.db-journal',
  'owner.json',
  'owner.json.new',
  'doorbell',
  'api-secret',
];
const FOLDERS = ['values', 'sandbox', 'temporal'];
/** Processes of sandboxes read their images, which may be other users. */
const IMAGES = 'images';
const IMAGE_FILES = ['images.db', 'images.db-wal', 'images.db-shm'];

/**
 * Makes the data folder where it is missing, and takes from other users every right to it and to what Heddle has made in
 * it, whatever the umask was. Where the process is root and the folder has images, others may pass it: the processes of
 * the sandbox are other users then. `report` is told of what stays open. Throws where the folder cannot be made.
 */
export function makePrivateData(data: string, report: (error: Error) => void): void {
  if (process.platform === 'win32') return void mkdirSync(data, { recursive: true });
  // Folders above it are nothing of ours.
  mkdirSync(dirname(resolve(data)), { recursive: true });
  mkdirSync(data, { recursive: true, mode: PRIVATE_FOLDER });
  const names = readdirSync(data);
  const told = (problem: string | undefined): void => {
    if (problem !== undefined) report(new Error(problem));
  };
  told(closeFolder(data, names));
  for (const name of names) {
    const path = join(data, name);
    if (FILES.includes(name)) told(restrict(path, PRIVATE_FILE));
    if (FOLDERS.includes(name)) told(restrictTree(path));
    if (name === IMAGES) for (const each of IMAGE_FILES) told(restrict(join(path, each), PRIVATE_FILE));
  }
}

/** Makes the file where it is missing, for this user alone; SQLite gives the files beside a database the same rights. */
export function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', PRIVATE_FILE));
  } catch (error) {
    // What is there is not opened: to close it would drop the locks that this process has on it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return;
  }
  restrict(file, PRIVATE_FILE);
}

/** Closes the data folder; returns why it stays open. */
function closeFolder(data: string, names: readonly string[]): string | undefined {
  const { mode } = statSync(data);
  const wanted = process.geteuid?.() === 0 && names.includes(IMAGES) ? PASSABLE_FOLDER : PRIVATE_FOLDER;
  const others = names.filter((name) => ![...FILES, ...FOLDERS, IMAGES].includes(name));
  const isShared = others.length > 0 || (mode & STICKY) !== 0;
  if ((mode & OTHERS) === 0 || !isShared) return restrict(data, wanted);
  const what =
    others.length > 0 ? `${JSON.stringify(others[0])}, which Heddle has not made` : 'files of other users';
  return `The data folder "${data}" stays open to other users (${octal(mode)}), as it holds ${what}. Heddle's own files in it are closed. Use a folder of their own to hide their names too.`;
}

/** The folder and all that is in it, where others may enter it: a closed one has been done before. */
function restrictTree(folder: string): string | undefined {
  const stat = statOf(folder);
  if (!stat || (stat.mode & OTHERS) === 0) return undefined;
  let problem: string | undefined;
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) problem ??= restrictTree(path);
    else if (entry.isFile()) problem ??= restrict(path, PRIVATE_FILE);
  }
  // The folder is the last: one whose work was broken off is done again.
  return problem ?? restrict(folder, PRIVATE_FOLDER);
}

/** What is in the folder; nothing where another user's folder does not show it. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // That the folder cannot be closed either is said for the folder itself.
    return [];
  }
}

/** Gives the path these rights; returns why others keep theirs. */
function restrict(path: string, wanted: number): string | undefined {
  const stat = statOf(path);
  if (!stat || (stat.mode & PERMISSIONS) === wanted) return undefined;
  let why = 'its file system ignores that';
  try {
    chmodSync(path, wanted);
  } catch (error) {
    why = (error as Error).message;
  }
  // Some file systems have rights that cannot be changed, and accept the call.
  const now = statOf(path);
  if (!now || (now.mode & OTHERS & ~wanted) === 0) return undefined;
  return `Other users may read recorded runs: the rights of "${path}" are ${octal(now.mode)} and cannot be changed (${why}). Let its owner run chmod go= on it, or use another data folder.`;
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
