import { readdir, readFile, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';

/** Files of one package: each makes all snapshots larger, which every run reads. Packages with more are asked for by their names. */
const MAX_SUBPATHS = 300;
/** What a package does not name itself (what fits its patterns, what stands in its folders) may have so much source. */
const MAX_UNNAMED_BYTES = 512 * 1024;
/** Looked at for the patterns of one package. */
const MAX_FILES = 10_000;

/** What user code can make use of. */
const LOADABLE = /\.(?:[cm]?js|json)$/;
/** As the bundler takes them, which is asked by `require`. */
const CONDITIONS: ReadonlySet<string> = new Set(['worker', 'browser', 'import', 'require', 'default']);

/** Folders with copies of the same modules, or with files that are no modules. The folder of the main module is read in any case. */
const SKIPPED_FOLDERS =
  /^(?:node_modules|dist|src|es|esm|cjs|umd|test|tests|docs|examples|bin|scripts|types)$/;
/** Files beside the modules: minified doubles, configuration. */
const ASIDE =
  /^[._]|\.min\.|\.config\.|file\.js$|^(?:tsconfig.*|bower|component|composer|manifest|npm-shrinkwrap|package-lock|jsr|deno)\.json$/;

interface PackageJson {
  readonly exports?: unknown;
  readonly main?: unknown;
}

/** Where an entry of `exports` leads, by the conditions of bundles; null where nowhere. */
function targetOf(target: unknown): string | null {
  if (typeof target === 'string') return target;
  if (typeof target !== 'object' || target === null) return null;
  const inner = Array.isArray(target)
    ? target
    : Object.entries(target)
        .filter(([condition]) => CONDITIONS.has(condition))
        .map(([, value]: [string, unknown]) => value);
  for (const each of inner) {
    const found = targetOf(each);
    if (found !== null) return found;
  }
  return null;
}

/** Paths of all files below a folder of a package, from the package's own. */
async function filesBelow(home: string, folder: string, found: string[] = []): Promise<string[]> {
  const entries = await readdir(join(home, folder), { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (found.length >= MAX_FILES || entry.name === 'node_modules') continue;
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory()) await filesBelow(home, path, found);
    else if (entry.isFile()) found.push(path);
  }
  return found;
}

/** `a*b` as what comes before and after the star. */
function partsOf(pattern: string): readonly [before: string, after: string] {
  const [before = '', after = ''] = pattern.split('*');
  return [before, after];
}

/** What stands for the star where the text is one of the pattern; null where it is none. */
function starOf(text: string, pattern: string): string | null {
  const [before, after] = partsOf(pattern);
  const fits = text.startsWith(before) && text.endsWith(after) && text.length > before.length + after.length;
  return fits ? text.slice(before.length, text.length - after.length) : null;
}

/** A module that a package offers: its name, which begins with `./`, and its file. */
interface Offered {
  readonly path: string;
  readonly file: string;
}

/** What a package offers: by name, and what is found there. */
interface Offer {
  readonly named: readonly Offered[];
  readonly unnamed: readonly Offered[];
}

async function fromPattern(home: string, key: string, target: string): Promise<Offered[]> {
  const [before, after] = partsOf(key);
  const pattern = posix.normalize(target);
  const files = await filesBelow(home, posix.dirname(`${partsOf(pattern)[0]}x`));
  return files.flatMap((file): Offered[] => {
    const star = starOf(file, pattern);
    return star === null ? [] : [{ path: before + star + after, file }];
  });
}

/** What `exports` lists, patterns filled in. */
async function fromExports(home: string, exports: object): Promise<Offer> {
  const entries = Object.entries(exports).filter(([key]) => key.startsWith('./'));
  const named: Offered[] = [];
  const unnamed: Offered[] = [];
  for (const [path, value] of entries) {
    const file = targetOf(value);
    if (file === null) continue;
    if (path.includes('*')) for (const offered of await fromPattern(home, path, file)) unnamed.push(offered);
    else named.push({ path, file });
  }
  const closed = entries.filter(([key, value]) => key.includes('*') && value === null);
  const isOpen = ({ path }: Offered): boolean => !closed.some(([key]) => starOf(path, key) !== null);
  return { named, unnamed: unnamed.filter(isOpen) };
}

/** Modules in one folder of a package, with and without their endings, as `require` takes them. */
async function modulesIn(home: string, folder: string): Promise<Offered[]> {
  const entries = await readdir(join(home, folder), { withFileTypes: true }).catch(() => []);
  return entries.flatMap((entry): Offered[] => {
    const file = posix.join(folder, entry.name);
    if (!entry.isFile() || !LOADABLE.test(entry.name) || ASIDE.test(entry.name)) return [];
    const bare = file.replace(/\.(?:js|json)$/, '');
    return (bare === file ? [file] : [file, bare]).map((path) => ({ path: `./${path}`, file }));
  });
}

/** Modules beside the package's main one, and one folder deep: how packages without `exports` offer parts. */
async function fromFiles(home: string, main: string): Promise<Offer> {
  const place = posix.dirname(posix.normalize(main));
  const folders = new Set(place === '.' || place.startsWith('..') ? [] : [place]);
  for (const entry of await readdir(home, { withFileTypes: true }))
    if (entry.isDirectory() && !entry.name.startsWith('.') && !SKIPPED_FOLDERS.test(entry.name))
      folders.add(entry.name);
  const inner = await Promise.all([...folders].map((folder) => modulesIn(home, folder)));
  return { named: await modulesIn(home, '.'), unnamed: inner.flat() };
}

/** What is there and can be loaded: names, and files with their bytes. */
interface Present {
  readonly paths: readonly string[];
  readonly files: ReadonlyMap<string, number>;
}

/** Of one module in several formats there is the first of these. */
const FORMATS = ['js', 'mjs', 'cjs'];

/** Whether the file has the same module in another format, of two that only differ by their endings. */
function isDouble(file: string, all: ReadonlySet<string>): boolean {
  const [, stem = '', ending = ''] = /^(.*)\.([cm]?js)$/.exec(file) ?? [];
  return FORMATS.slice(0, Math.max(FORMATS.indexOf(ending), 0)).some((other) => all.has(`${stem}.${other}`));
}

async function present(home: string, offered: readonly Offered[]): Promise<Present> {
  const all = new Set(offered.map(({ file }) => file));
  const files = new Map<string, number>();
  for (const file of all) {
    if (!LOADABLE.test(file) || isDouble(file, all)) continue;
    const found = await stat(join(home, file)).catch(() => null);
    if (found?.isFile() === true) files.set(file, found.size);
  }
  return { paths: offered.filter(({ file }) => files.has(file)).map(({ path }) => path), files };
}

/** The other modules that a package offers, such as `dayjs/plugin/utc`, as far as they are no burden. */
export async function subpathsOf(name: string, nodeModules: string): Promise<string[]> {
  const home = join(nodeModules, name);
  const { exports, main } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8')) as PackageJson;
  const { named, unnamed } =
    exports === undefined
      ? await fromFiles(home, typeof main === 'string' ? main : 'index.js')
      : await fromExports(home, typeof exports === 'object' && exports !== null ? exports : {});
  const own = await present(home, named);
  const more = await present(home, unnamed);
  const bytes = [...more.files.values()].reduce((sum, size) => sum + size, 0);
  const isMore =
    bytes <= MAX_UNNAMED_BYTES &&
    new Set([...own.files, ...more.files].map(([file]) => file)).size <= MAX_SUBPATHS;
  const paths = new Set(isMore ? [...own.paths, ...more.paths] : own.paths);
  return own.files.size > MAX_SUBPATHS ? [] : [...paths].map((path) => posix.join(name, path));
}
