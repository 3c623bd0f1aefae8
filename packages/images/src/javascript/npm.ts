import { randomUUID } from 'node:crypto';
import { copyFile, lstat, mkdir, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { IsolationOptions } from '@heddle/sandbox';
import { findUnreadablePath, type Confinement, freeProcessUid, takeProcessUid } from '@heddle/sandbox/build';
import type { BuildContext } from '../builder.ts';
import { ImageError } from '../error.ts';
import { ConfinedProcesses } from '../confined-processes.ts';
import { openWorkArea, chownTree, move, reclaimTree, type WorkArea } from '../ownership.ts';
import { npmFailure } from './npm-failure.ts';
import { runNpm } from './npm-process.ts';
import type { NpmSettings } from './npm-settings.ts';
import { RegistryProxy } from './registry-proxy.ts';
import { watchSize, type Size } from './size.ts';

/** Flags of every run: no scripts, packages only from registries, no audit requests. */
const FLAGS = [
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--json',
  '--no-progress',
  '--no-update-notifier',
  '--no-workspaces',
  '--omit=dev',
  '--allow-git=none',
  '--allow-remote=none',
  '--allow-file=none',
  '--allow-directory=none',
  '--loglevel=http',
  '--logs-max=0',
];

/** npm's lockfile, and its maximum size. */
const LOCKFILE = 'package-lock.json';
const MAX_LOCKFILE_BYTES = 32 * 2 ** 20;

/** Runs npm for builders. */
export class Npm {
  /** Maximum size of the unpacked packages. */
  readonly maxSize: Readonly<Size>;
  readonly #program: string | undefined;
  readonly #processes: ConfinedProcesses;

  constructor(program: string | undefined, maxSize: Readonly<Size>, isolation: IsolationOptions | undefined) {
    this.#program = program;
    this.maxSize = maxSize;
    this.#processes = new ConfinedProcesses(isolation);
  }

  /** Path of npm-cli.js. Throws ImageError provider_error if npm was not found. */
  get program(): string {
    if (this.#program !== undefined) return this.#program;
    throw new ImageError(
      'provider_error',
      'npm was not found; install npm 11 or newer next to Node.js, or set the builder option `npm` to the path of npm-cli.js.',
    );
  }

  /**
   * Runs npm on a project folder, which then contains the lockfile and packages. Runs in a sandbox if the host
   * supports one, and always without credentials. Throws ImageError.
   */
  async run(args: readonly string[], folder: string, context: BuildContext): Promise<void> {
    const { program } = this;
    const confinement = await this.#processes.confinement();
    const uid = confinement.uids === undefined ? undefined : takeProcessUid(confinement.uids);
    try {
      if (uid !== undefined) requireReadable(program);
      const workArea = await openWorkArea(context.workFolder, uid !== undefined);
      try {
        await this.#runIn(workArea, { program, args, folder, uid, confinement }, context);
      } finally {
        await workArea.remove();
      }
    } finally {
      if (uid !== undefined) freeProcessUid(uid);
    }
  }

  async #runIn(workArea: WorkArea, run: RequestedRun, context: BuildContext): Promise<void> {
    const { confinement, uid, program, folder } = run;
    const proxy = await RegistryProxy.open(context.registries.npm ?? {});
    const sizeWatch = watchSize(workArea.folder, this.maxSize, context.signal);
    try {
      const folders = await prepareFolders(workArea, run, proxy.settings);
      const { code, stdout, stderr } = await runNpm(
        {
          ...folders,
          program,
          uid,
          args: [...run.args, ...FLAGS],
          proxySocket: proxy.path,
          fileMiB: Math.ceil(this.maxSize.bytes / 2 ** 20) + 64,
        },
        confinement,
        sizeWatch.signal,
      );
      context.log(stderr);
      sizeWatch.signal.throwIfAborted();
      if (code !== 0) {
        context.log(stdout);
        throw npmFailure(stdout, stderr, proxy.failureReason);
      }
      if (uid !== undefined) await reclaimTree(folders.project);
      await moveResults(folders.project, folder);
      await rm(folders.project, { recursive: true, force: true });
    } finally {
      sizeWatch.stop();
      await proxy.close();
    }
  }
}

interface RequestedRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly uid: number | undefined;
  readonly confinement: Confinement;
}

/**
 * Prepares the folders of a run and makes its user their owner: a copy of the project, and a home whose cache later
 * runs reuse.
 */
async function prepareFolders(
  workArea: WorkArea,
  { folder, uid }: RequestedRun,
  settings: NpmSettings,
): Promise<{ project: string; home: string }> {
  const project = join(workArea.folder, `project-${randomUUID()}`);
  const home = join(workArea.folder, 'home');
  for (const path of [project, home]) await mkdir(path, { recursive: true });
  for (const name of ['package.json', LOCKFILE])
    if (existsSync(join(folder, name))) await copyFile(join(folder, name), join(project, name));
  // Removed first, so that links left by an earlier run are not followed.
  for (const name of ['.npmrc', 'global-npmrc']) await rm(join(home, name), { recursive: true, force: true });
  await writeFile(join(home, '.npmrc'), settingsText(settings), { flag: 'wx' });
  await writeFile(join(home, 'global-npmrc'), '', { flag: 'wx' });
  if (uid !== undefined) for (const path of [project, home]) await chownTree(path, uid);
  return { project, home };
}

function settingsText(settings: NpmSettings): string {
  return Object.entries(settings)
    .map(([key, value]) => `${key}=${value.replace(/[\r\n]+/g, ' ')}\n`)
    .join('');
}

/** Moves npm's results to the project folder. The lockfile must be a regular file and node_modules a folder. */
async function moveResults(project: string, folder: string): Promise<void> {
  const lockfileStat = await lstat(join(project, LOCKFILE)).catch(() => undefined);
  if (lockfileStat?.isFile() !== true)
    throw new ImageError('install_failed', 'npm wrote no lockfile, and reported no reason.');
  if (lockfileStat.size > MAX_LOCKFILE_BYTES)
    throw new ImageError(
      'image_too_large',
      `The lockfile has more than ${MAX_LOCKFILE_BYTES / 2 ** 20} MiB.`,
    );
  await rm(join(folder, LOCKFILE), { force: true });
  await move(join(project, LOCKFILE), join(folder, LOCKFILE));
  const modulesStat = await lstat(join(project, 'node_modules')).catch(() => undefined);
  if (modulesStat === undefined) return;
  if (!modulesStat.isDirectory())
    throw new ImageError('install_failed', 'npm wrote no node_modules folder, and reported no reason.');
  await move(join(project, 'node_modules'), join(folder, 'node_modules'));
}

/** Throws if users other than the host's user cannot read npm. */
function requireReadable(program: string): void {
  const unreadablePath = findUnreadablePath(program);
  if (unreadablePath !== undefined)
    throw new ImageError(
      'provider_error',
      'Sandbox users cannot read npm on this host: make its folder and the folders above it accessible (chmod o+rX), or install it elsewhere.',
    );
}
