import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ImageBlob } from '@heddle/sandbox';
import { freeProcessUid, takeProcessUid } from '@heddle/sandbox/build';
import type { BuildContext } from '../../../builder.ts';
import { ImageError } from '../../../error.ts';
import { logLines } from '../../../log.ts';
import { chownTree, move, reclaimTree } from '../../../ownership.ts';
import { watchSize } from '../../../javascript/size.ts';
import type { RootJobRunner } from '../../root-job-runner.ts';
import type { LockedGoBuild } from '../../lock.ts';
import type { GoInstall } from '../recipe.ts';
import { createGoError } from './failure.ts';
import { GoModuleProxy } from './module-proxy.ts';
import { unpackModule } from './modules.ts';
import { MAX_GO_MEMORY_MIB, MAX_GO_MINUTES, programPath, runGo, type GoRun } from './process.ts';
import { findOrFetchToolchain } from './toolchain.ts';

/** Part of the cache key of programs. Increment it if the same sources produce different programs. */
const REVISION = 1;

/** Maximum size of modules and build output while a tool is compiled. */
const MAX_BUILD_SIZE = { files: 500_000, bytes: 12 * 2 ** 30 };
const POLL_MS = 20_000;

/** A tool to compile. */
export interface GoBuild {
  readonly id: string;
  readonly install: GoInstall;
  readonly locked: LockedGoBuild;
}

/** The folders of one build, and the user that runs the compiler. */
type BuildFolders = Pick<GoRun, 'toolchain' | 'sources' | 'folder' | 'home' | 'programs' | 'uid'>;

/**
 * Returns the folder with a tool's programs from the store; compiles them if the store does not have them. Compiling
 * runs no module code and connects only to module proxies. Throws ImageError.
 */
export function findOrCompilePrograms(
  build: GoBuild,
  rootJobRunner: Pick<RootJobRunner, 'confinement'>,
  context: BuildContext,
): Promise<ImageBlob> {
  const { programs, variables, files } = build.install;
  const keyInput = JSON.stringify([REVISION, build.locked, programs, variables, files ?? {}]);
  const name = `go-programs:${createHash('sha256').update(keyInput).digest('hex')}`;
  return context.findOrMakeFolder(name, (folder) => compile(build, folder, rootJobRunner, context));
}

async function compile(
  build: GoBuild,
  target: string,
  rootJobRunner: Pick<RootJobRunner, 'confinement'>,
  context: BuildContext,
): Promise<void> {
  const toolchain = await findOrFetchToolchain(build.locked.toolchain, context);
  const confinement = await rootJobRunner.confinement();
  const buildFolder = await mkdtemp(join(context.workFolder, 'go-'));
  const uid = confinement.uids === undefined ? undefined : takeProcessUid(confinement.uids);
  const sizeWatcher = watchSize(buildFolder, MAX_BUILD_SIZE, context.signal, { factor: 1, pollMs: POLL_MS });
  try {
    const folders = await prepareFolders(build, { buildFolder, toolchain: toolchain.path, uid }, context);
    const run = async (args: readonly string[], proxy?: GoModuleProxy): Promise<void> => {
      const options = { ...folders, args, proxySocket: proxy?.path };
      const end = await logLines(context, (outputListener) =>
        runGo(options, confinement, sizeWatcher.signal, outputListener),
      );
      sizeWatcher.signal.throwIfAborted();
      if (end.exitCode === 0) return;
      throw createGoError(build.id, end, {
        requestError: proxy?.lastError,
        minutes: MAX_GO_MINUTES,
        memoryMiB: MAX_GO_MEMORY_MIB,
      });
    };
    await downloadModules(build, run, context);
    await compilePrograms(build, run, context);
    if (uid !== undefined) await reclaimTree(folders.programs);
    for (const name of Object.keys(build.install.programs))
      await moveProgram(build.id, join(folders.programs, name), join(target, name));
  } finally {
    sizeWatcher.stop();
    if (uid !== undefined) freeProcessUid(uid);
    await rm(buildFolder, { recursive: true, force: true });
  }
}

type RunCommand = (args: readonly string[], proxy?: GoModuleProxy) => Promise<void>;

/** Downloads the modules that the programs need to the module cache; go.sum contains their checksums. */
async function downloadModules(
  { id, install }: GoBuild,
  run: RunCommand,
  context: BuildContext,
): Promise<void> {
  context.reportProgress(`fetching the Go modules of ${id}`);
  const proxy = await GoModuleProxy.open(context);
  try {
    // Only modules that are compiled: `go mod download` would also fetch those of tests.
    await run(['list', '-deps', '-f', '{{""}}', ...Object.values(install.programs)], proxy);
  } finally {
    await proxy.close();
  }
}

async function compilePrograms(
  { id, install }: GoBuild,
  run: RunCommand,
  context: BuildContext,
): Promise<void> {
  const assignments = Object.entries(install.variables).map(([name, value]) => `-X ${name}=${value}`);
  const linkerFlags = `-ldflags=${['-s', '-w', ...assignments].join(' ')}`;
  // No profile of a module's author, and no access to version control.
  const buildFlags = ['-trimpath', '-buildvcs=false', '-pgo=off', linkerFlags];
  for (const [name, path] of Object.entries(install.programs)) {
    context.reportProgress(`compiling ${name} of ${id}`);
    await run(['build', ...buildFlags, '-o', programPath(name), path]);
  }
}

/** Creates the folders of a build: sources that the host owns, and folders that the compiler's user may write to. */
async function prepareFolders(
  { install, locked }: GoBuild,
  { buildFolder, toolchain, uid }: { buildFolder: string; toolchain: string; uid: number | undefined },
  context: BuildContext,
): Promise<BuildFolders> {
  const [home, programs, sources] = ['home', 'bin', 'src'].map((name) => join(buildFolder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [join(home, 'tmp'), programs, sources]) await mkdir(path, { recursive: true });
  // The compiler's user must be able to traverse them.
  for (const path of [buildFolder, sources]) await chmod(path, 0o755);
  for (const module of locked.modules)
    await unpackModule(module, { folder: join(sources, module.folder) }, context);
  const { folder } = locked.modules[0];
  for (const [path, text] of Object.entries(install.files ?? {})) {
    const target = join(sources, folder, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text, { flag: 'wx', mode: 0o644 });
  }
  if (uid !== undefined) for (const path of [home, programs]) await chownTree(path, uid);
  return { toolchain, sources, folder, home, programs, uid };
}

/** Moves a compiled program to the store; it must be a regular file. */
async function moveProgram(id: string, source: string, target: string): Promise<void> {
  const stat = await lstat(source).catch(() => undefined);
  if (stat?.isFile() !== true)
    throw new ImageError(
      'install_failed',
      `The command-line tool ${id} could not be compiled: Go wrote no program.`,
    );
  await chmod(source, 0o755);
  await move(source, target);
}
