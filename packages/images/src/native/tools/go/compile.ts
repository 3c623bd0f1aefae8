import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ImageBlob } from '@heddle/sandbox';
import { freeSlotUid, takeSlotUid } from '@heddle/sandbox/build';
import type { BuildContext } from '../../../builder.ts';
import { ImageError } from '../../../error.ts';
import { chownTree, move, reclaimTree } from '../../../ownership.ts';
import { watchSize } from '../../../javascript/size.ts';
import type { Checker } from '../../check.ts';
import type { LockedGo } from '../../lock.ts';
import type { GoInstall } from '../recipe.ts';
import { goFailure } from './failure.ts';
import { GoGate } from './gate.ts';
import { unpackModule } from './modules.ts';
import { GO_MEMORY_MIB, GO_MINUTES, placeOf, runGo, type GoRun } from './process.ts';
import { cachedToolchain } from './toolchain.ts';

/** Another number where the same sources make other programs. */
const REVISION = 1;

/** What modules and what is made of them may take while a tool is compiled. */
const MAX_BUILD = { files: 500_000, bytes: 12 * 2 ** 30 };
const LOOK_MS = 20_000;

/** One tool that is compiled. */
export interface GoOrder {
  readonly id: string;
  readonly install: GoInstall;
  readonly locked: LockedGo;
}

/** The folders of one build. */
type Places = Pick<GoRun, 'toolchain' | 'sources' | 'folder' | 'home' | 'programs' | 'uid'>;

/**
 * The folder of the programs of a tool, in the store: compiled where it is not there already. Nothing of a module is run by
 * that, and what compiles them reaches nothing but modules. Throws ImageError.
 */
export function cachedPrograms(
  order: GoOrder,
  checker: Pick<Checker, 'confinement'>,
  context: BuildContext,
): Promise<ImageBlob> {
  const { programs, variables, files } = order.install;
  const parts = JSON.stringify([REVISION, order.locked, programs, variables, files ?? {}]);
  const name = `go-programs:${createHash('sha256').update(parts).digest('hex')}`;
  return context.kept(name, (folder) => compile(order, folder, checker, context));
}

async function compile(
  order: GoOrder,
  target: string,
  checker: Pick<Checker, 'confinement'>,
  context: BuildContext,
): Promise<void> {
  const toolchain = await cachedToolchain(order.locked.toolchain, context);
  const confinement = await checker.confinement();
  const workArea = await mkdtemp(join(context.workFolder, 'go-'));
  const uid = confinement.uids === null ? null : takeSlotUid(confinement.uids);
  const size = watchSize(workArea, MAX_BUILD, context.signal, { copies: 1, lookMs: LOOK_MS });
  try {
    const places = await prepare(order, { workArea, toolchain: toolchain.path, uid }, context);
    const run = async (args: readonly string[], gate: GoGate | null): Promise<void> => {
      const asked = { ...places, args, gate: gate?.path ?? null };
      const end = await runGo(asked, confinement, size.signal, (data) => context.log(data.toString()));
      size.signal.throwIfAborted();
      if (end.exitCode === 0) return;
      const fault = gate?.fault ?? null;
      throw goFailure(order.id, end, { fault, minutes: GO_MINUTES, memoryMiB: GO_MEMORY_MIB });
    };
    await download(order, run, context);
    await compileAll(order, run, context);
    if (uid !== null) await reclaimTree(places.programs);
    for (const name of Object.keys(order.install.programs))
      await take(order.id, join(places.programs, name), join(target, name));
  } finally {
    size.stop();
    if (uid !== null) freeSlotUid(uid);
    await rm(workArea, { recursive: true, force: true });
  }
}

type Run = (args: readonly string[], gate: GoGate | null) => Promise<void>;

/** Everything that the programs need, into the cache of modules; go.sum says what each has to be. */
async function download({ id, install }: GoOrder, run: Run, context: BuildContext): Promise<void> {
  context.progress(`fetching the Go modules of ${id}`);
  const gate = await GoGate.open(context);
  try {
    // Only those that are compiled: `go mod download` would fetch those of tests as well.
    await run(['list', '-deps', '-f', '{{""}}', ...Object.values(install.programs)], gate);
  } finally {
    await gate.close();
  }
}

async function compileAll({ id, install }: GoOrder, run: Run, context: BuildContext): Promise<void> {
  const set = Object.entries(install.variables).map(([name, value]) => `-X ${name}=${value}`);
  const linking = `-ldflags=${['-s', '-w', ...set].join(' ')}`;
  // Without a profile of a module's author, and without a look for version control.
  const switches = ['-trimpath', '-buildvcs=false', '-pgo=off', linking];
  for (const [name, path] of Object.entries(install.programs)) {
    context.progress(`compiling ${name} of ${id}`);
    await run(['build', ...switches, '-o', placeOf(name), path], null);
  }
}

/** The folders of a build: sources that the host keeps, and what the user of the compiler may write to. */
async function prepare(
  { install, locked }: GoOrder,
  { workArea, toolchain, uid }: { workArea: string; toolchain: string; uid: number | null },
  context: BuildContext,
): Promise<Places> {
  const [home, programs, sources] = ['home', 'bin', 'src'].map((name) => join(workArea, name)) as [
    string,
    string,
    string,
  ];
  for (const each of [join(home, 'tmp'), programs, sources]) await mkdir(each, { recursive: true });
  // The user has to get through.
  for (const each of [workArea, sources]) await chmod(each, 0o755);
  for (const module of locked.modules)
    await unpackModule(module, { folder: join(sources, module.folder) }, context);
  const { folder } = locked.modules[0];
  for (const [path, text] of Object.entries(install.files ?? {})) {
    const place = join(sources, folder, path);
    await mkdir(dirname(place), { recursive: true });
    await writeFile(place, text, { flag: 'wx', mode: 0o644 });
  }
  if (uid !== null) for (const each of [home, programs]) await chownTree(each, uid);
  return { toolchain, sources, folder, home, programs, uid };
}

/** Takes a program over: it has to be a file. */
async function take(id: string, from: string, to: string): Promise<void> {
  const stat = await lstat(from).catch(() => null);
  if (stat?.isFile() !== true)
    throw new ImageError(
      'install_failed',
      `The command-line tool ${id} could not be compiled: Go wrote no program.`,
    );
  await chmod(from, 0o755);
  await move(from, to);
}
