import { randomInt } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LoadedImage } from './image.ts';
import type { Program } from './pool/launch.ts';

/** What the processes of a sandbox run on. */
export interface SandboxVersions {
  readonly node: string;
  readonly v8: string;
  readonly isolatedVm: string;
}

/** The versions of this host; its processes have the same, unless `execPath` names another Node.js. */
export function sandboxVersions(): SandboxVersions {
  const { version } = createRequire(import.meta.url)('isolated-vm/package.json') as { version: string };
  return { node: process.versions.node, v8: process.versions.v8, isolatedVm: version };
}

/** The child program; `src` and `dist` are siblings, so the path holds from both. */
const FILE = fileURLToPath(new URL('../dist/child.cjs', import.meta.url));

/** Of all processes, so that the snapshot of one serves the others as it is; random, so that nobody can prepare colliding keys. */
const HASH_SEED = randomInt(1, 2 ** 48 - 1);

/** With the compiler each isolate sets 512 MiB aside for its code, so a limit that a process with many of them stays below limits little. */
const DATA_MIB = { interpreted: 1_536, compiled: 65_536 };

/** The addon file for this Node.js, found without running the package's own loader in the child. */
function addonPath(): string {
  const require = createRequire(import.meta.url);
  const home = dirname(require.resolve('isolated-vm/package.json'));
  const { path } = require('node-gyp-build') as { path: (home: string) => string };
  return realpathSync(path(home));
}

/** The child program of Python, and the folder of its interpreter. */
const PYTHON = fileURLToPath(new URL('../dist/python-child.cjs', import.meta.url));
export const PYTHON_FILES = fileURLToPath(new URL('../dist/python', import.meta.url));

/** A file whose text is another wherever a memory of the one would not do for the other. */
export const PYTHON_STAMP = fileURLToPath(new URL('../dist/python/memory.stamp', import.meta.url));

/** The programs that load the packages of an image, with the limits of a run. */
export const JAVASCRIPT_IMAGE_FILE = fileURLToPath(new URL('../dist/image.cjs', import.meta.url));
export const PYTHON_IMAGE_FILE = fileURLToPath(new URL('../dist/python-image.cjs', import.meta.url));

/** Stand-ins for the built-in modules of Node.js, for bundles of npm packages. */
export const SHIMS_FILE = fileURLToPath(new URL('../dist/shims.cjs', import.meta.url));

/** The memory of the interpreter, in pages of 64 KiB: 256 MiB. */
const PYTHON_PAGES = 4_096;

/** V8 sets 512 MiB aside for the code of the isolate, and as much for that of the program itself. */
const PYTHON_DATA_MIB = 2_200;

/**
 * The program that runs Python, with the packages of an image where there is one; it needs V8's compiler, since the
 * interpreter is WebAssembly. `own` is the file of a memory to begin with in place of the package's.
 */
export function pythonProgram(image: LoadedImage | null, own?: string): Program {
  const site = image?.blobs['site.zip']?.path;
  const memory = image?.blobs['memory.snap']?.path ?? own;
  const task =
    memory === undefined ? (site === undefined ? [] : ['site']) : [site === undefined ? 'own' : 'memory'];
  return pythonTask(
    task,
    [site, memory].filter((file) => file !== undefined),
  );
}

/** The program that makes such a memory. */
export function pythonMemoryProgram(): Program {
  return pythonTask(['make'], []);
}

function pythonTask(task: readonly string[], files: readonly string[]): Program {
  const addon = addonPath();
  const folder = existsSync(PYTHON_FILES) ? realpathSync(PYTHON_FILES) : PYTHON_FILES;
  return {
    file: PYTHON,
    args: [addon, folder, ...task],
    readable: [addon, folder],
    files,
    flags: ['--no-node-snapshot', `--wasm-max-mem-pages=${PYTHON_PAGES}`, '--max-old-space-size=256'],
    dataMiB: PYTHON_DATA_MIB,
    waits: true,
  };
}

/** The program that runs JavaScript; with `jit` V8 may compile to machine code. */
export function javascriptProgram(jit: boolean): Program {
  const addon = addonPath();
  return {
    file: FILE,
    args: [addon],
    readable: [addon],
    flags: [
      '--no-node-snapshot',
      `--hash-seed=${HASH_SEED}`,
      ...(jit ? [] : ['--jitless']),
      '--max-old-space-size=256',
    ],
    dataMiB: jit ? DATA_MIB.compiled : DATA_MIB.interpreted,
  };
}

/** The program that loads a bundle of npm packages and makes its snapshot, or its code cache. */
export function javascriptImageProgram(): Program {
  return { ...javascriptProgram(false), file: JAVASCRIPT_IMAGE_FILE };
}

/** The program that compiles and loads Python packages and makes their snapshot; `files` are what it gets open. */
export function pythonImageProgram(files: readonly string[]): Program {
  return { ...pythonProgram(null), file: PYTHON_IMAGE_FILE, files };
}
