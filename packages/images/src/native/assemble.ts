import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { BuildContext, ImageSpec } from '../builder.ts';
import { dependencyName } from '../grammar.ts';
import type { Npm } from '../javascript/npm.ts';
import { parseRequirement } from '../python/pep/requirement.ts';
import { withCredentials } from '../python/sources/credentials.ts';
import { TreeWriter, untar, mergeTree } from './archive/tree-writer.ts';
import type { RootJobRunner } from './root-job-runner.ts';
import { unpackDeb } from './debian/unpack.ts';
import { MAX_PACKAGE_BYTES, MAX_SIZE } from './limits.ts';
import type { LockedDeb, NativeLockData } from './lock.ts';
import { readNpmLock } from '../javascript/lockfile.ts';
import { installNpmLock } from '../javascript/npm-project.ts';
import { runScripts } from './scripts.ts';
import { readWheelLock } from './python/lock.ts';
import { installWheels } from './python/wheels.ts';
import { createRoot, finishRoot } from './root.ts';
import { HEDDLE_FOLDER, installTool } from './tools/install-tool.ts';
import { recipeOf } from './tools/lock-tools.ts';

/** Folder of compiled modules, arranged by the paths of their sources. */
const PYTHON_CACHE = `${HEDDLE_FOLDER}/pycache`;

/** Modules that are not compiled, because code in a sandbox does not use them. */
const EXCLUDED_MODULES = '/(tests?|idlelib|lib2to3|ensurepip|distutils|pydoc_data|tkinter|turtledemo)/';

/**
 * Compiles as many modules as possible and writes them to standard output as an archive. Python does not check them
 * against their sources, because the image does not change.
 */
const COMPILE_SCRIPT = `
stdlib=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
export PYTHONPYCACHEPREFIX=$HOME/cache
mkdir -p $HOME/cache
python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash -x '${EXCLUDED_MODULES}' \\
  "$stdlib" /usr/lib/python3/dist-packages /${HEDDLE_FOLDER}/python > /dev/null 2>&1 < /dev/null
exec tar -C $HOME/cache -cf - .
`;

/**
 * Adds compiled modules to the image; otherwise each run would compile its imports. Returns whether it succeeded.
 */
async function compilePython(root: string, rootJobRunner: RootJobRunner): Promise<boolean> {
  const archive = await rootJobRunner.captureOutput(['/bin/bash', '-c', COMPILE_SCRIPT]);
  if (archive === undefined) return false;
  const writer = new TreeWriter(root, MAX_SIZE, 'The compiled modules');
  await untar(Readable.from([archive], { objectMode: false }), writer, PYTHON_CACHE);
  return true;
}

/** Part of the cache key of unpacked packages. Increment it if unpacking a .deb produces different files. */
const UNPACK_REVISION = 1;

/** Unpacks Debian packages to a new root. Packages shared with other images are unpacked only once. */
export async function unpackDebs(
  root: string,
  debs: readonly LockedDeb[],
  context: BuildContext,
): Promise<void> {
  await createRoot(root);
  const writer = new TreeWriter(root, MAX_SIZE, 'The image');
  for (const { name, version, url, sha256 } of debs) {
    context.signal.throwIfAborted();
    context.reportProgress(`unpacking ${name} ${version}`);
    const deb = await context.fetchVerified(url, `sha256:${sha256}`, { maxBytes: MAX_PACKAGE_BYTES });
    const tree = await context.findOrMakeFolder(`deb:${UNPACK_REVISION}:${sha256}`, (folder) =>
      unpackDeb(deb.path, folder, `The package ${name} ${version}`),
    );
    await mergeTree(tree.path, writer);
  }
  await finishRoot(root);
}

/** The inputs of an installation, and the programs that perform it. */
interface Installation {
  readonly spec: ImageSpec;
  readonly data: NativeLockData;
  readonly npm: Npm;
  readonly rootJobRunner: RootJobRunner;
}

/** The result of installing the packages of a language. */
interface InstalledPackages {
  readonly modules: readonly string[];
  readonly warnings: readonly string[];
  /** The statement that loads each package of the specification. */
  readonly loadStatements: readonly (readonly [name: string, statement: string])[];
}

const NO_PACKAGES: InstalledPackages = { modules: [], warnings: [], loadStatements: [] };

async function installNpmPackages(
  root: string,
  { spec, data, npm, rootJobRunner }: Installation,
  context: BuildContext,
): Promise<InstalledPackages> {
  if (data.npm === null) return NO_PACKAGES;
  context.reportProgress('installing');
  const { nodeModules, scriptedPackages } = await installNpmLock(npm, readNpmLock(data.npm), context);
  await mkdir(join(root, HEDDLE_FOLDER), { recursive: true });
  await rename(nodeModules, join(root, HEDDLE_FOLDER, 'node_modules'));
  const warnings = await runScripts(
    scriptedPackages,
    { root, folder: HEDDLE_FOLDER, npm, rootJobRunner },
    context,
  );
  const names = spec.dependencies.map((entry) => dependencyName(entry, 'javascript'));
  return {
    modules: names,
    warnings,
    loadStatements: names.map((name) => [name, `await import(${JSON.stringify(name)})`] as const),
  };
}

async function installPythonPackages(
  root: string,
  { spec, data }: Installation,
  context: BuildContext,
): Promise<InstalledPackages> {
  if (data.python === null) return NO_PACKAGES;
  const { wheels } = readWheelLock(data.python);
  const folders = { root, site: `${HEDDLE_FOLDER}/python`, programs: `${HEDDLE_FOLDER}/bin` };
  const { modules, warnings } = await installWheels(wheels, folders, withCredentials(context));
  const names = spec.dependencies.flatMap((text) => parseRequirement(text)?.name ?? []);
  const publicModulesOf = (name: string): string[] =>
    (modules.get(name) ?? []).filter((module) => !module.split('.').some((part) => part.startsWith('_')));
  // Only the first module of a distribution is tested: others may load only on other systems.
  const loadStatements = names.flatMap((name): [string, string][] => {
    const [firstModule] = publicModulesOf(name);
    return firstModule === undefined ? [] : [[name, `import ${firstModule}`]];
  });
  return {
    modules: names.flatMap(publicModulesOf),
    warnings: [...data.python.warnings, ...warnings],
    loadStatements,
  };
}

/**
 * Assembles the root file system of a lock, and tests it: loads every package of the specification, and runs every
 * tool.
 */
export async function assembleRoot(
  root: string,
  installation: Installation,
  context: BuildContext,
): Promise<{ modules: readonly string[]; warnings: readonly string[] }> {
  const { spec, data, rootJobRunner } = installation;
  await unpackDebs(root, data.debs, context);
  const install = spec.language === 'javascript' ? installNpmPackages : installPythonPackages;
  const installedPackages = await install(root, installation, context);
  const warnings = [...data.warnings, ...installedPackages.warnings];
  for (const tool of data.tools)
    warnings.push(...(await installTool(tool, root, installation, withCredentials(context))));
  if (data.debs.some(({ name }) => name === 'python3')) {
    context.reportProgress('compiling');
    if (!(await compilePython(root, rootJobRunner))) context.log('The Python modules were not compiled.');
  }
  context.reportProgress('loading');
  const { language } = spec;
  await rootJobRunner.load(
    language,
    language === 'python' ? 'import sys, ssl, json' : 'return 1',
    'The interpreter',
  );
  for (const [name, statement] of installedPackages.loadStatements)
    await rootJobRunner.load(language, statement, `The package ${name}`);
  for (const { id } of data.tools)
    await rootJobRunner.runCommand(recipeOf(id).verifyCommand, `The command-line tool ${id}`);
  return { modules: installedPackages.modules, warnings: [...new Set(warnings)] };
}
