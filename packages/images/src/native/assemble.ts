import { mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { BuildContext, ImageSpec } from '../builder.ts';
import { dependencyName } from '../grammar.ts';
import type { Npm } from '../javascript/npm.ts';
import { parseRequirement } from '../python/pep/requirement.ts';
import { withCredentials } from '../python/sources/credentials.ts';
import { TreeWriter, untar, mergeTree } from './archive/tree-writer.ts';
import type { Checker } from './check.ts';
import { unpackDeb } from './debian/unpack.ts';
import { MAX_PACKAGE_BYTES, MAX_SIZE } from './limits.ts';
import type { LockedDeb, NativeLockData } from './lock.ts';
import { readNpmLock } from '../javascript/lockfile.ts';
import { installNpm } from '../javascript/npm-project.ts';
import { runScripts } from './scripts.ts';
import { readWheels } from './python/lock.ts';
import { installWheels } from './python/wheels.ts';
import { createRoot, finishRoot } from './root.ts';
import { HOME, installTool } from './tools/install-tool.ts';
import { recipeOf } from './tools/lock-tools.ts';

/** Where compiled modules are, by the paths of their sources. */
const CACHE = `${HOME}/pycache`;

/** What nobody imports in a function. */
const LEFT_OUT = '/(tests?|idlelib|lib2to3|ensurepip|distutils|pydoc_data|tkinter|turtledemo)/';

/** Compiles what it can, and writes the result to standard output. Checked never: the image does not change. */
const SCRIPT = `
stdlib=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
export PYTHONPYCACHEPREFIX=$HOME/cache
mkdir -p $HOME/cache
python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash -x '${LEFT_OUT}' \\
  "$stdlib" /usr/lib/python3/dist-packages /${HOME}/python > /dev/null 2>&1 < /dev/null
exec tar -C $HOME/cache -cf - .
`;

/** Puts compiled modules beside those of the image: without them each run compiles what it imports. Whether it went well. */
async function compilePython(root: string, checker: Checker): Promise<boolean> {
  const archive = await checker.outputOf(['/bin/bash', '-c', SCRIPT]);
  if (archive === null) return false;
  const writer = new TreeWriter(root, MAX_SIZE, 'The compiled modules');
  await untar(Readable.from([archive], { objectMode: false }), writer, CACHE);
  return true;
}

/** What unpacking makes of a .deb; another number where it makes something else of the same file. */
const UNPACK_REVISION = 1;

/** Lays the files of Debian packages into a new root; packages that other images have as well are not unpacked again. */
export async function unpackDebs(
  root: string,
  debs: readonly LockedDeb[],
  context: BuildContext,
): Promise<void> {
  await createRoot(root);
  const writer = new TreeWriter(root, MAX_SIZE, 'The image');
  for (const { name, version, url, sha256 } of debs) {
    context.signal.throwIfAborted();
    context.progress(`unpacking ${name} ${version}`);
    const deb = await context.fetchVerified(url, `sha256:${sha256}`, { maxBytes: MAX_PACKAGE_BYTES });
    const tree = await context.kept(`deb:${UNPACK_REVISION}:${sha256}`, (folder) =>
      unpackDeb(deb.path, folder, `The package ${name} ${version}`),
    );
    await mergeTree(tree.path, writer);
  }
  await finishRoot(root);
}

/** What is installed. */
interface Order {
  readonly spec: ImageSpec;
  readonly data: NativeLockData;
  readonly npm: Npm;
  readonly checker: Checker;
}

/** What the packages of a language gave. */
interface Installed {
  readonly modules: readonly string[];
  readonly warnings: readonly string[];
  /** Statements that load each package of the spec: its name → the code. */
  readonly loads: readonly (readonly [name: string, code: string])[];
}

const NOTHING: Installed = { modules: [], warnings: [], loads: [] };

async function installNpmPackages(
  root: string,
  { spec, data, npm, checker }: Order,
  context: BuildContext,
): Promise<Installed> {
  if (data.npm === null) return NOTHING;
  context.progress('installing');
  const { modules, scripted } = await installNpm(npm, readNpmLock(data.npm), context);
  await mkdir(join(root, HOME), { recursive: true });
  await rename(modules, join(root, HOME, 'node_modules'));
  const warnings = await runScripts(scripted, { root, place: HOME, npm, checker }, context);
  const names = spec.dependencies.map((entry) => dependencyName(entry, 'javascript'));
  return {
    modules: names,
    warnings,
    loads: names.map((name) => [name, `await import(${JSON.stringify(name)})`] as const),
  };
}

async function installPythonPackages(
  root: string,
  { spec, data }: Order,
  context: BuildContext,
): Promise<Installed> {
  if (data.python === null) return NOTHING;
  const { wheels } = readWheels(data.python);
  const place = { root, site: `${HOME}/python`, programs: `${HOME}/bin` };
  const { modules, warnings } = await installWheels(wheels, place, withCredentials(context));
  const names = spec.dependencies.flatMap((text) => parseRequirement(text)?.name ?? []);
  const publicOf = (name: string): string[] =>
    (modules.get(name) ?? []).filter((module) => !module.split('.').some((part) => part.startsWith('_')));
  // One module stands for a distribution with many: some only load on other systems.
  const loads = names.flatMap((name): [string, string][] => {
    const [first] = publicOf(name);
    return first === undefined ? [] : [[name, `import ${first}`]];
  });
  return { modules: names.flatMap(publicOf), warnings: [...data.python.warnings, ...warnings], loads };
}

/** The root file system of a lock, tried out: everything that the spec names is loaded or run in it. */
export async function assembleRoot(
  root: string,
  order: Order,
  context: BuildContext,
): Promise<{ modules: readonly string[]; warnings: readonly string[] }> {
  const { spec, data, checker } = order;
  await unpackDebs(root, data.debs, context);
  const install = spec.language === 'javascript' ? installNpmPackages : installPythonPackages;
  const installed = await install(root, order, context);
  const warnings = [...data.warnings, ...installed.warnings];
  for (const tool of data.tools)
    warnings.push(...(await installTool(tool, root, order, withCredentials(context))));
  if (data.debs.some(({ name }) => name === 'python3')) {
    context.progress('compiling');
    if (!(await compilePython(root, checker))) context.log('The modules of Python were not compiled.');
  }
  context.progress('loading');
  const { language } = spec;
  await checker.load(
    language,
    language === 'python' ? 'import sys, ssl, json' : 'return 1',
    'The interpreter',
  );
  for (const [name, code] of installed.loads) await checker.load(language, code, `The package ${name}`);
  for (const { id } of data.tools) await checker.command(recipeOf(id).verify, `The command-line tool ${id}`);
  return { modules: installed.modules, warnings: [...new Set(warnings)] };
}
