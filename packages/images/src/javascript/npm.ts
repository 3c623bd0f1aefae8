import { randomUUID } from 'node:crypto';
import { copyFile, lstat, mkdir, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { IsolationOptions } from '@heddle/sandbox';
import { unreadablePart, type Confinement, freeSlotUid, takeSlotUid } from '@heddle/sandbox/build';
import type { BuildContext } from '../builder.ts';
import { ImageError } from '../error.ts';
import { ConfinedProcesses } from '../confined-processes.ts';
import { openWorkArea, chownTree, move, reclaimTree, type WorkArea } from '../ownership.ts';
import { npmFailure } from './npm-failure.ts';
import { runNpm } from './npm-process.ts';
import type { NpmSettings } from './npm-settings.ts';
import { RegistryGate } from './registry-gate.ts';
import { watchSize, type Size } from './size.ts';

/** Scripts never run, nothing comes from elsewhere than a registry, and nobody is told about it. */
const SWITCHES = [
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

/** What npm writes, and how much of a file it may be. */
const LOCKFILE = 'package-lock.json';
const MAX_LOCKFILE_BYTES = 32 * 2 ** 20;

/** npm as builders run it. */
export class Npm {
  /** What it may unpack. */
  readonly most: Readonly<Size>;
  readonly #program: string | null;
  readonly #processes: ConfinedProcesses;

  constructor(program: string | null, most: Readonly<Size>, isolation: IsolationOptions | undefined) {
    this.#program = program;
    this.most = most;
    this.#processes = new ConfinedProcesses(isolation);
  }

  /** The file npm-cli.js. Throws ImageError provider_error where there is none. */
  get program(): string {
    if (this.#program !== null) return this.#program;
    throw new ImageError(
      'provider_error',
      'npm was not found; install npm 11 or newer beside Node.js, or give the builder the path of its npm-cli.js (`npm`).',
    );
  }

  /**
   * Runs npm on the project in a folder, which then has the lockfile and the packages that it made: in a sandbox of its own
   * where the host has one, without credentials everywhere. Throws ImageError.
   */
  async run(args: readonly string[], folder: string, context: BuildContext): Promise<void> {
    const { program } = this;
    const confinement = await this.#processes.confinement();
    const uid = confinement.uids === null ? null : takeSlotUid(confinement.uids);
    try {
      if (uid !== null) requireReadable(program);
      const workArea = await openWorkArea(context.workFolder, uid !== null);
      try {
        await this.#on(workArea, { program, args, folder, uid, confinement }, context);
      } finally {
        await workArea.remove();
      }
    } finally {
      if (uid !== null) freeSlotUid(uid);
    }
  }

  async #on(workArea: WorkArea, run: Asked, context: BuildContext): Promise<void> {
    const { confinement, uid, program, folder } = run;
    const gate = await RegistryGate.open(context.registries.npm ?? {});
    const size = watchSize(workArea.folder, this.most, context.signal);
    try {
      const places = await prepare(workArea, run, gate.settings);
      const { code, stdout, stderr } = await runNpm(
        {
          ...places,
          program,
          uid,
          args: [...run.args, ...SWITCHES],
          gate: gate.path,
          fileMiB: Math.ceil(this.most.bytes / 2 ** 20) + 64,
        },
        confinement,
        size.signal,
      );
      context.log(stderr);
      size.signal.throwIfAborted();
      if (code !== 0) {
        context.log(stdout);
        throw npmFailure(stdout, stderr, gate.fault);
      }
      if (uid !== null) await reclaimTree(places.project);
      await collect(places.project, folder);
      await rm(places.project, { recursive: true, force: true });
    } finally {
      size.stop();
      await gate.close();
    }
  }
}

interface Asked {
  readonly program: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly uid: number | null;
  readonly confinement: Confinement;
}

/** The folders of one run, which belong to its user: a copy of the project, and a home whose cache later runs find again. */
async function prepare(
  workArea: WorkArea,
  { folder, uid }: Asked,
  settings: NpmSettings,
): Promise<{ project: string; home: string }> {
  const project = join(workArea.folder, `project-${randomUUID()}`);
  const home = join(workArea.folder, 'home');
  for (const each of [project, home]) await mkdir(each, { recursive: true });
  for (const name of ['package.json', LOCKFILE])
    if (existsSync(join(folder, name))) await copyFile(join(folder, name), join(project, name));
  // Whatever an earlier run left there is not followed.
  for (const name of ['.npmrc', 'global-npmrc']) await rm(join(home, name), { recursive: true, force: true });
  await writeFile(join(home, '.npmrc'), settingsText(settings), { flag: 'wx' });
  await writeFile(join(home, 'global-npmrc'), '', { flag: 'wx' });
  if (uid !== null) for (const each of [project, home]) await chownTree(each, uid);
  return { project, home };
}

function settingsText(settings: NpmSettings): string {
  return Object.entries(settings)
    .map(([key, value]) => `${key}=${value.replace(/[\r\n]+/g, ' ')}\n`)
    .join('');
}

/** Takes over what npm made: a lockfile that is a file, and a folder of packages that is a folder. */
async function collect(project: string, folder: string): Promise<void> {
  const lockfile = await lstat(join(project, LOCKFILE)).catch(() => null);
  if (lockfile?.isFile() !== true)
    throw new ImageError('install_failed', 'npm wrote no lockfile, and did not say why.');
  if (lockfile.size > MAX_LOCKFILE_BYTES)
    throw new ImageError(
      'image_too_large',
      `The list of the packages has more than ${MAX_LOCKFILE_BYTES / 2 ** 20} MiB.`,
    );
  await rm(join(folder, LOCKFILE), { force: true });
  await move(join(project, LOCKFILE), join(folder, LOCKFILE));
  const modules = await lstat(join(project, 'node_modules')).catch(() => null);
  if (modules === null) return;
  if (!modules.isDirectory())
    throw new ImageError('install_failed', 'npm wrote no folder of packages, and did not say why.');
  await move(join(project, 'node_modules'), join(folder, 'node_modules'));
}

/** Throws where another user than the host's could not run npm. */
function requireReadable(program: string): void {
  const barrier = unreadablePart(program);
  if (barrier !== null)
    throw new ImageError(
      'provider_error',
      'Users of sandbox processes cannot read npm on this host: let others read and enter its folder and those above it (chmod o+rX), or install it elsewhere.',
    );
}
