import { randomInt } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LoadedImage } from './image.ts';
import type { Program } from './pool/launch.ts';

/** The versions of the software that the sandbox processes run on. */
export interface SandboxVersions {
  readonly node: string;
  readonly v8: string;
  readonly isolatedVm: string;
}

/** Returns the versions of this host. Its processes use the same ones unless `execPath` names another Node.js. */
export function sandboxVersions(): SandboxVersions {
  const { version } = createRequire(import.meta.url)('isolated-vm/package.json') as { version: string };
  return { node: process.versions.node, v8: process.versions.v8, isolatedVm: version };
}

/** The child program. `src` and `dist` are siblings, so the path is valid from both. */
const JAVASCRIPT_FILE = fileURLToPath(new URL('../dist/child.cjs', import.meta.url));

/**
 * V8 hash seed of all processes. Shared, so that one process's snapshot works in the others; random, so that no code
 * can prepare colliding keys.
 */
const HASH_SEED = randomInt(1, 2 ** 48 - 1);

/**
 * Limits on the data memory of a process. With V8's compiler, each isolate reserves 512 MiB for code, so the limit of
 * `compiled` is large.
 */
const DATA_MIB = { interpreted: 1_536, compiled: 65_536 };

/**
 * Returns the path of the addon for this Node.js. The host resolves it, so that the child does not run the package's
 * own loader.
 */
function addonPath(): string {
  const require = createRequire(import.meta.url);
  const packageFolder = dirname(require.resolve('isolated-vm/package.json'));
  const { path } = require('node-gyp-build') as { path: (packageFolder: string) => string };
  return realpathSync(path(packageFolder));
}

/** The child program of Python. */
const PYTHON_CHILD_FILE = fileURLToPath(new URL('../dist/python-child.cjs', import.meta.url));
/** The folder with the files of the Python interpreter. */
export const PYTHON_FILES = fileURLToPath(new URL('../dist/python', import.meta.url));

/** A file whose content changes whenever an old memory snapshot becomes invalid. */
export const PYTHON_STAMP = fileURLToPath(new URL('../dist/python/memory.stamp', import.meta.url));

/** Programs that load the packages of an image within the limits of a run. */
export const JAVASCRIPT_IMAGE_FILE = fileURLToPath(new URL('../dist/image.cjs', import.meta.url));
export const PYTHON_IMAGE_FILE = fileURLToPath(new URL('../dist/python-image.cjs', import.meta.url));

/** Stand-ins for Node.js builtins in bundles of npm packages. */
export const SHIMS_FILE = fileURLToPath(new URL('../dist/shims.cjs', import.meta.url));

/** Maximum memory of the interpreter, in pages of 64 KiB: 256 MiB. */
const PYTHON_PAGES = 4_096;

/** Limit on data memory. V8 reserves 512 MiB of it for the code of the isolate, and as much for the program. */
const PYTHON_DATA_MIB = 2_200;

/**
 * Returns the program that runs Python, with the packages of an image if one is given. It needs V8's compiler, since
 * the interpreter is WebAssembly. `hostSnapshot` is a snapshot file that replaces the one in the package.
 */
export function pythonProgram(image?: LoadedImage, hostSnapshot?: string): Program {
  const siteArchive = image?.blobs['site.zip']?.path;
  const snapshot = image?.blobs['memory.snap']?.path ?? hostSnapshot;
  // Tells the program which files it gets: packages (`site`), a snapshot (`own`), both (`memory`), or none.
  const taskArgs =
    snapshot === undefined
      ? siteArchive === undefined
        ? []
        : ['site']
      : [siteArchive === undefined ? 'own' : 'memory'];
  return createPythonProgram(
    taskArgs,
    [siteArchive, snapshot].filter((file) => file !== undefined),
  );
}

/** Returns the program that makes a memory snapshot. */
export function pythonSnapshotProgram(): Program {
  return createPythonProgram(['make'], []);
}

function createPythonProgram(taskArgs: readonly string[], files: readonly string[]): Program {
  const addon = addonPath();
  const folder = existsSync(PYTHON_FILES) ? realpathSync(PYTHON_FILES) : PYTHON_FILES;
  return {
    file: PYTHON_CHILD_FILE,
    args: [addon, folder, ...taskArgs],
    readablePaths: [addon, folder],
    files,
    flags: ['--no-node-snapshot', `--wasm-max-mem-pages=${PYTHON_PAGES}`, '--max-old-space-size=256'],
    dataMiB: PYTHON_DATA_MIB,
    hasSyncPipe: true,
  };
}

/** Returns the program that runs JavaScript. With `jit`, V8 may compile to machine code. */
export function javascriptProgram(jit: boolean): Program {
  const addon = addonPath();
  return {
    file: JAVASCRIPT_FILE,
    args: [addon],
    readablePaths: [addon],
    flags: [
      '--no-node-snapshot',
      `--hash-seed=${HASH_SEED}`,
      ...(jit ? [] : ['--jitless']),
      '--max-old-space-size=256',
    ],
    dataMiB: jit ? DATA_MIB.compiled : DATA_MIB.interpreted,
  };
}

/** Returns the program that loads a bundle of npm packages and makes its snapshot or code cache. */
export function javascriptImageProgram(): Program {
  return { ...javascriptProgram(false), file: JAVASCRIPT_IMAGE_FILE };
}

/** Returns the program that compiles and loads Python packages and makes their snapshot. `files` are opened for it. */
export function pythonImageProgram(files: readonly string[]): Program {
  return { ...pythonProgram(), file: PYTHON_IMAGE_FILE, files };
}
