import { readdir, readFile, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';

/**
 * Maximum number of files per package. Each file makes the snapshot larger, which every run reads. A package with more
 * gets only the modules that it lists itself; if those have more files too, only its main module.
 */
const MAX_SUBPATHS = 300;
/**
 * Maximum source size of modules that a package does not list itself (matches of its patterns, files in its folders).
 */
const MAX_UNLISTED_BYTES = 512 * 1024;
/** Maximum number of files to check for the patterns of a package. */
const MAX_FILES = 10_000;

/** Files that user code can import. */
const LOADABLE_FILE = /\.(?:[cm]?js|json)$/;
/** Export conditions of the bundler for `require`. */
const CONDITIONS: ReadonlySet<string> = new Set(['worker', 'browser', 'import', 'require', 'default']);

/**
 * Folders with copies of the same modules, or with files that are not modules. The main module's folder is always read.
 */
const SKIPPED_FOLDERS =
  /^(?:node_modules|dist|src|es|esm|cjs|umd|test|tests|docs|examples|bin|scripts|types)$/;
/** Files that are not modules: minified copies, configuration. */
const NON_MODULE_FILE =
  /^[._]|\.min\.|\.config\.|file\.js$|^(?:tsconfig.*|bower|component|composer|manifest|npm-shrinkwrap|package-lock|jsr|deno)\.json$/;

interface PackageJson {
  readonly exports?: unknown;
  readonly main?: unknown;
}

/** Returns the target of an entry of `exports` under the bundle's conditions; undefined if there is none. */
function targetOf(entry: unknown): string | undefined {
  if (typeof entry === 'string') return entry;
  if (typeof entry !== 'object' || entry === null) return undefined;
  const innerEntries = Array.isArray(entry)
    ? entry
    : Object.entries(entry)
        .filter(([condition]) => CONDITIONS.has(condition))
        .map(([, value]: [string, unknown]) => value);
  for (const innerEntry of innerEntries) {
    const nestedTarget = targetOf(innerEntry);
    if (nestedTarget !== undefined) return nestedTarget;
  }
  return undefined;
}

/** Returns the paths of all files below a folder of a package, relative to the package. */
async function filesBelow(packageFolder: string, folder: string, files: string[] = []): Promise<string[]> {
  const entries = await readdir(join(packageFolder, folder), { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (files.length >= MAX_FILES || entry.name === 'node_modules') continue;
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) await filesBelow(packageFolder, path, files);
    else if (entry.isFile()) files.push(path);
  }
  return files;
}

/** Splits `a*b` at the star. */
function splitPattern(pattern: string): readonly [prefix: string, suffix: string] {
  const [prefix = '', suffix = ''] = pattern.split('*');
  return [prefix, suffix];
}

/** Returns the text that the star matches; undefined if the pattern does not match. */
function starMatch(text: string, pattern: string): string | undefined {
  const [prefix, suffix] = splitPattern(pattern);
  const isMatch =
    text.startsWith(prefix) && text.endsWith(suffix) && text.length > prefix.length + suffix.length;
  return isMatch ? text.slice(prefix.length, text.length - suffix.length) : undefined;
}

/** A module that a package offers: its name, which begins with `./`, and its file. */
interface OfferedModule {
  readonly path: string;
  readonly file: string;
}

/** The modules that a package offers: those that it lists, and those found by search. */
interface PackageModules {
  readonly listedModules: readonly OfferedModule[];
  readonly unlistedModules: readonly OfferedModule[];
}

/** Returns the modules of an entry of `exports` with a star: its name is `key`, and its files match `target`. */
async function modulesOfPattern(
  packageFolder: string,
  key: string,
  target: string,
): Promise<OfferedModule[]> {
  const [prefix, suffix] = splitPattern(key);
  const pattern = posix.normalize(target);
  const files = await filesBelow(packageFolder, posix.dirname(`${splitPattern(pattern)[0]}x`));
  return files.flatMap((file): OfferedModule[] => {
    const star = starMatch(file, pattern);
    return star === undefined ? [] : [{ path: prefix + star + suffix, file }];
  });
}

/** Returns the modules in `exports`, with patterns expanded. */
async function modulesOfExports(packageFolder: string, exports: object): Promise<PackageModules> {
  const entries = Object.entries(exports).filter(([key]) => key.startsWith('./'));
  const listedModules: OfferedModule[] = [];
  const unlistedModules: OfferedModule[] = [];
  for (const [path, value] of entries) {
    const file = targetOf(value);
    if (file === undefined) continue;
    if (path.includes('*'))
      for (const offeredModule of await modulesOfPattern(packageFolder, path, file))
        unlistedModules.push(offeredModule);
    else listedModules.push({ path, file });
  }
  const excludedEntries = entries.filter(([key, value]) => key.includes('*') && value === null);
  const isIncluded = ({ path }: OfferedModule): boolean =>
    !excludedEntries.some(([key]) => starMatch(path, key) !== undefined);
  return { listedModules, unlistedModules: unlistedModules.filter(isIncluded) };
}

/** Returns the modules in one folder of a package, by names with and without the extension, as `require` does. */
async function modulesIn(packageFolder: string, folder: string): Promise<OfferedModule[]> {
  const entries = await readdir(join(packageFolder, folder), { withFileTypes: true }).catch(() => []);
  return entries.flatMap((entry): OfferedModule[] => {
    const file = posix.join(folder, entry.name);
    if (!entry.isFile() || !LOADABLE_FILE.test(entry.name) || NON_MODULE_FILE.test(entry.name)) return [];
    const pathWithoutExtension = file.replace(/\.(?:js|json)$/, '');
    const paths = pathWithoutExtension === file ? [file] : [file, pathWithoutExtension];
    return paths.map((path) => ({ path: `./${path}`, file }));
  });
}

/**
 * Returns the modules that a package without `exports` offers: those in its folder, in its direct subfolders, and in
 * the folder of its main module.
 */
async function modulesOfFolders(packageFolder: string, main: string): Promise<PackageModules> {
  const mainFolder = posix.dirname(posix.normalize(main));
  const folders = new Set(mainFolder === '.' || mainFolder.startsWith('..') ? [] : [mainFolder]);
  for (const entry of await readdir(packageFolder, { withFileTypes: true }))
    if (entry.isDirectory() && !entry.name.startsWith('.') && !SKIPPED_FOLDERS.test(entry.name))
      folders.add(entry.name);
  const innerModules = await Promise.all([...folders].map((folder) => modulesIn(packageFolder, folder)));
  return { listedModules: await modulesIn(packageFolder, '.'), unlistedModules: innerModules.flat() };
}

/** Modules that exist and can be loaded: names, and files with their sizes. */
interface LoadableModules {
  readonly paths: readonly string[];
  readonly files: ReadonlyMap<string, number>;
}

/** The formats of a module, the preferred one first. */
const FORMATS = ['js', 'mjs', 'cjs'];

/** Returns whether the same module exists in a preferred format, judging by its file name. */
function isDuplicate(file: string, allFiles: ReadonlySet<string>): boolean {
  const [, stem = '', extension = ''] = /^(.*)\.([cm]?js)$/.exec(file) ?? [];
  return FORMATS.slice(0, Math.max(FORMATS.indexOf(extension), 0)).some((preferredFormat) =>
    allFiles.has(`${stem}.${preferredFormat}`),
  );
}

/** Returns the modules whose files exist and can be loaded, each in one format. */
async function selectLoadableModules(
  packageFolder: string,
  offeredModules: readonly OfferedModule[],
): Promise<LoadableModules> {
  const allFiles = new Set(offeredModules.map(({ file }) => file));
  const files = new Map<string, number>();
  for (const file of allFiles) {
    if (!LOADABLE_FILE.test(file) || isDuplicate(file, allFiles)) continue;
    const fileStat = await stat(join(packageFolder, file)).catch(() => undefined);
    if (fileStat?.isFile() === true) files.set(file, fileStat.size);
  }
  return { paths: offeredModules.filter(({ file }) => files.has(file)).map(({ path }) => path), files };
}

/** Returns the modules that a package offers besides its main module, such as `dayjs/plugin/utc`, within the limits. */
export async function subpathsOf(name: string, nodeModules: string): Promise<string[]> {
  const packageFolder = join(nodeModules, name);
  const json = await readFile(join(packageFolder, 'package.json'), 'utf8');
  const { exports, main } = JSON.parse(json) as PackageJson;
  const { listedModules, unlistedModules } =
    exports === undefined
      ? await modulesOfFolders(packageFolder, typeof main === 'string' ? main : 'index.js')
      : await modulesOfExports(packageFolder, typeof exports === 'object' && exports !== null ? exports : {});
  const loadableListedModules = await selectLoadableModules(packageFolder, listedModules);
  const loadableUnlistedModules = await selectLoadableModules(packageFolder, unlistedModules);
  const bytes = [...loadableUnlistedModules.files.values()].reduce((sum, size) => sum + size, 0);
  const includesUnlistedModules =
    bytes <= MAX_UNLISTED_BYTES &&
    new Set([...loadableListedModules.files, ...loadableUnlistedModules.files].map(([file]) => file)).size <=
      MAX_SUBPATHS;
  const paths = new Set([
    ...loadableListedModules.paths,
    ...(includesUnlistedModules ? loadableUnlistedModules.paths : []),
  ]);
  return loadableListedModules.files.size > MAX_SUBPATHS
    ? []
    : [...paths].map((path) => posix.join(name, path));
}
