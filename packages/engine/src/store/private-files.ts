import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs';
import type { Dirent, Stats } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const PRIVATE_FOLDER_MODE = 0o700;
/** Other users can open readable files in the folder by path, but cannot list it. */
const TRAVERSABLE_FOLDER_MODE = 0o711;
const PRIVATE_FILE_MODE = 0o600;
const PERMISSION_BITS = 0o777;
const GROUP_AND_OTHER_BITS = 0o077;
const STICKY_BIT = 0o1000;

/** The files and folders that Heddle creates in a data folder. */
const DATABASES = ['heddle.db', 'live.db', 'api.db'].flatMap((name) =>
  ['', '-wal', '-shm', '-journal'].map((suffix) => name + suffix),
);
const FILES = [
  ...DATABASES,
  'lock.db',
  'lock.db-journal',
  'owner.json',
  'owner.json.new',
  'doorbell',
  'live-changes',
  'api-secret',
];
const FOLDERS = ['values', 'sandbox', 'temporal', 'secret-keys'];
/** The image folder. Sandbox processes, which may belong to other users, read it. */
const IMAGE_FOLDER = 'images';
const IMAGE_FILES = ['images.db', 'images.db-wal', 'images.db-shm'];

/**
 * Creates the data folder if it is missing, and removes the permissions of other users for the folder and for the files
 * that Heddle has created in it, for any umask. If the process is root and the folder has images, other users may
 * traverse it, because sandbox processes then belong to other users. Calls `onError` for each path that stays
 * accessible. Throws if the folder cannot be created.
 */
export function makeDataFolderPrivate(dataFolder: string, onError: (error: Error) => void): void {
  if (process.platform === 'win32') return void mkdirSync(dataFolder, { recursive: true });
  // Parent folders get the default permissions.
  mkdirSync(dirname(resolve(dataFolder)), { recursive: true });
  mkdirSync(dataFolder, { recursive: true, mode: PRIVATE_FOLDER_MODE });
  const names = readdirSync(dataFolder);
  const reportProblem = (problem: string | undefined): void => {
    if (problem !== undefined) onError(new Error(problem));
  };
  reportProblem(restrictFolder(dataFolder, names));
  for (const name of names) {
    const path = join(dataFolder, name);
    if (FILES.includes(name)) reportProblem(restrict(path, PRIVATE_FILE_MODE));
    if (FOLDERS.includes(name)) reportProblem(restrictTree(path));
    if (name === IMAGE_FOLDER)
      for (const imageFile of IMAGE_FILES) reportProblem(restrict(join(path, imageFile), PRIVATE_FILE_MODE));
  }
}

/**
 * Creates the file if it is missing, readable only for this user; SQLite gives its other files the same permissions.
 */
export function makePrivateFile(file: string): void {
  try {
    closeSync(openSync(file, 'wx', PRIVATE_FILE_MODE));
  } catch (error) {
    // An existing file is not opened: closing it would release the locks of this process on it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return;
  }
  restrict(file, PRIVATE_FILE_MODE);
}

/** Restricts the data folder to this user. Returns the problem if it stays accessible to others. */
function restrictFolder(dataFolder: string, names: readonly string[]): string | undefined {
  const { mode } = statSync(dataFolder);
  const permissions =
    process.geteuid?.() === 0 && names.includes(IMAGE_FOLDER) ? TRAVERSABLE_FOLDER_MODE : PRIVATE_FOLDER_MODE;
  const foreignNames = names.filter((name) => ![...FILES, ...FOLDERS, IMAGE_FOLDER].includes(name));
  const hasForeignFiles = foreignNames.length > 0 || (mode & STICKY_BIT) !== 0;
  if ((mode & GROUP_AND_OTHER_BITS) === 0 || !hasForeignFiles) return restrict(dataFolder, permissions);
  const content =
    foreignNames.length > 0
      ? `${JSON.stringify(foreignNames[0])}, which Heddle did not create`
      : 'files of other users';
  return `The data folder "${dataFolder}" stays accessible to other users (${toOctal(mode)}), since it contains ${content}. Heddle's own files in it are private. Use a separate folder to hide their names too.`;
}

/** Restricts the folder and its content, unless the folder is private already. Returns the first problem. */
function restrictTree(folder: string): string | undefined {
  const stat = statOf(folder);
  if (!stat || (stat.mode & GROUP_AND_OTHER_BITS) === 0) return undefined;
  let problem: string | undefined;
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) problem ??= restrictTree(path);
    else if (entry.isFile()) problem ??= restrict(path, PRIVATE_FILE_MODE);
  }
  // The folder comes last, so that the next call repeats the work of an interrupted one.
  return problem ?? restrict(folder, PRIVATE_FOLDER_MODE);
}

/** Returns the content of the folder; empty if the folder belongs to another user and cannot be read. */
function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // The folder itself cannot be restricted either, which `restrict` reports.
    return [];
  }
}

/** Sets the permissions of the path. Returns the problem if other users keep access. */
function restrict(path: string, permissions: number): string | undefined {
  const stat = statOf(path);
  if (!stat || (stat.mode & PERMISSION_BITS) === permissions) return undefined;
  let reason = 'its file system ignores the change';
  try {
    chmodSync(path, permissions);
  } catch (error) {
    reason = (error as Error).message;
  }
  // Some file systems have fixed permissions, and ignore the call without an error.
  const current = statOf(path);
  if (!current || (current.mode & GROUP_AND_OTHER_BITS & ~permissions) === 0) return undefined;
  return `Other users can read recorded runs: the permissions of "${path}" are ${toOctal(current.mode)} and cannot be changed (${reason}). Let its owner run chmod go= on it, or use another data folder.`;
}

function statOf(path: string): Stats | undefined {
  return statSync(path, { throwIfNoEntry: false });
}

function toOctal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
