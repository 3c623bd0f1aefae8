import { chmod, cp, lchown, lstat, mkdir, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { findUnreadablePath } from '@heddle/sandbox/build';

const EXECUTABLE_BITS = 0o111;

/** Yields a folder and everything in it; links are not followed. */
async function* walkTree(path: string): AsyncGenerator<string> {
  yield path;
  if (!(await lstat(path)).isDirectory()) return;
  for (const name of await readdir(path)) yield* walkTree(join(path, name));
}

/** Makes a process's user the owner of a folder and everything in it. Other users cannot access the folder. */
export async function chownTree(folder: string, uid: number): Promise<void> {
  for await (const path of walkTree(folder)) await lchown(path, uid, uid);
  await chmod(folder, 0o700);
}

/**
 * Makes the host's user the owner of the files that a process wrote, with modes 0644 and 0755. No process of the other
 * user may still be running.
 */
export async function reclaimTree(folder: string): Promise<void> {
  const [uid, gid] = [process.geteuid?.(), process.getegid?.()];
  // From the top down, so that the other user can no longer change anything below a reclaimed folder.
  for await (const path of reclaimTopDown(folder, uid, gid)) {
    const stat = await lstat(path);
    if (stat.isFile()) await chmod(path, (stat.mode & EXECUTABLE_BITS) === 0 ? 0o644 : 0o755);
  }
}

async function* reclaimTopDown(
  path: string,
  uid: number | undefined,
  gid: number | undefined,
): AsyncGenerator<string> {
  if (uid !== undefined && gid !== undefined) await lchown(path, uid, gid);
  const isFolder = (await lstat(path)).isDirectory();
  if (isFolder) await chmod(path, 0o755);
  yield path;
  if (isFolder) for (const name of await readdir(path)) yield* reclaimTopDown(join(path, name), uid, gid);
}

/** Moves a file or folder, including between file systems. */
export async function move(source: string, target: string): Promise<void> {
  try {
    await rename(source, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await cp(source, target, { recursive: true, verbatimSymlinks: true });
    await rm(source, { recursive: true, force: true });
  }
}

/**
 * A folder that a process's user can enter: in the build's work folder if possible, otherwise in the system's temporary
 * folder.
 */
export interface WorkArea {
  readonly folder: string;
  remove(): Promise<void>;
}

/** Prefix of work areas in the system's temporary folder. */
const TEMPORARY_PREFIX = 'heddle-build-';

/** Removes the work folder of a build whose process died, and its work area in the system's temporary folder. */
export async function removeWorkFolder(workFolder: string): Promise<void> {
  for (const entry of await readdir(workFolder, { withFileTypes: true }).catch(() => [])) {
    if (!entry.isSymbolicLink() || !entry.name.startsWith(TEMPORARY_PREFIX)) continue;
    const folder = join(tmpdir(), entry.name);
    const stat = await lstat(folder).catch(() => undefined);
    // Another user may have created a folder with that name since.
    if (stat?.isDirectory() === true && stat.uid === process.geteuid?.())
      await rm(folder, { recursive: true, force: true });
  }
  await rm(workFolder, { recursive: true, force: true });
}

/** Creates the work area of one process. `runsAsOtherUser` is true if the process runs as another user. */
export async function openWorkArea(workFolder: string, runsAsOtherUser: boolean): Promise<WorkArea> {
  const npmFolder = join(workFolder, 'npm');
  await mkdir(npmFolder, { recursive: true });
  await chmod(npmFolder, 0o755);
  // The other user may traverse the folder, but not list it.
  if (runsAsOtherUser) await chmod(workFolder, 0o711);
  if (!runsAsOtherUser || findUnreadablePath(npmFolder) === undefined)
    return { folder: npmFolder, remove: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), TEMPORARY_PREFIX));
  // If this process dies, the cleanup that finds its work folder also finds the work area.
  const link = join(workFolder, basename(folder));
  const remove = async (): Promise<void> => {
    for (const path of [folder, link]) await rm(path, { recursive: true, force: true });
  };
  await symlink(folder, link);
  await chmod(folder, 0o755);
  if (findUnreadablePath(folder) === undefined) return { folder, remove };
  await remove();
  throw new Error(`Only the host's user can access ${dirname(folder)}; let other users enter this folder.`);
}
