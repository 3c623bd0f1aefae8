import { chmod, cp, lchown, lstat, mkdir, mkdtemp, readdir, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { barrierTo } from '../../isolation/reach.ts';

const RUNNABLE = 0o111;

/** Everything in a folder and the folder itself, links not followed. */
async function* within(path: string): AsyncGenerator<string> {
  yield path;
  if (!(await lstat(path)).isDirectory()) return;
  for (const name of await readdir(path)) yield* within(join(path, name));
}

/** Gives a folder with all that is in it to the user of a process. */
export async function lend(folder: string, uid: number): Promise<void> {
  for await (const path of within(folder)) await lchown(path, uid, uid);
  await chmod(folder, 0o700);
}

/** Makes what a process wrote ours again, with modes as files of packages have them. None of its processes may run any more. */
export async function takeBack(folder: string): Promise<void> {
  const [uid, gid] = [process.geteuid?.(), process.getegid?.()];
  // The folder first: below it nobody else can change anything from here on.
  for await (const path of ownedFirst(folder, uid, gid)) {
    const stat = await lstat(path);
    if (stat.isFile()) await chmod(path, (stat.mode & RUNNABLE) === 0 ? 0o644 : 0o755);
  }
}

async function* ownedFirst(
  path: string,
  uid: number | undefined,
  gid: number | undefined,
): AsyncGenerator<string> {
  if (uid !== undefined && gid !== undefined) await lchown(path, uid, gid);
  const isFolder = (await lstat(path)).isDirectory();
  if (isFolder) await chmod(path, 0o755);
  yield path;
  if (isFolder) for (const name of await readdir(path)) yield* ownedFirst(join(path, name), uid, gid);
}

/** Moves a file or folder, also to another disk. */
export async function move(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error;
    await cp(from, to, { recursive: true, verbatimSymlinks: true });
    await rm(from, { recursive: true, force: true });
  }
}

/** A folder that the user of a process can get to: in the work folder of the build, else among temporary files. */
export interface Ground {
  readonly folder: string;
  remove(): Promise<void>;
}

/** How the folders among temporary files begin. */
const ELSEWHERE = 'heddle-build-';

/** Removes a work folder whose build died, with what of it is elsewhere. */
export async function removeWork(workFolder: string): Promise<void> {
  for (const entry of await readdir(workFolder, { withFileTypes: true }).catch(() => [])) {
    if (!entry.isSymbolicLink() || !entry.name.startsWith(ELSEWHERE)) continue;
    const folder = join(tmpdir(), entry.name);
    const stat = await lstat(folder).catch(() => null);
    // The name may be another user's by now.
    if (stat?.isDirectory() === true && stat.uid === process.geteuid?.())
      await rm(folder, { recursive: true, force: true });
  }
  await rm(workFolder, { recursive: true, force: true });
}

/** The ground of one process; `hasUser`: whether it becomes another user than the host's. */
export async function groundIn(workFolder: string, hasUser: boolean): Promise<Ground> {
  const own = join(workFolder, 'npm');
  await mkdir(own, { recursive: true });
  await chmod(own, 0o755);
  // Its user has to get through, and to see nothing.
  if (hasUser) await chmod(workFolder, 0o711);
  if (!hasUser || barrierTo(own) === null) return { folder: own, remove: async () => undefined };
  const folder = await mkdtemp(join(tmpdir(), ELSEWHERE));
  // Should this process die, who finds its work folder finds what is elsewhere.
  const trace = join(workFolder, basename(folder));
  const remove = async (): Promise<void> => {
    for (const path of [folder, trace]) await rm(path, { recursive: true, force: true });
  };
  await symlink(folder, trace);
  await chmod(folder, 0o755);
  if (barrierTo(folder) === null) return { folder, remove };
  await remove();
  throw new Error(`No user but the host's gets into ${dirname(folder)}.`);
}
