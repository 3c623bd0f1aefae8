import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Of one package, so that bundles stay small: packages with more are asked for by their names only. */
const MOST_SUBPATHS = 300;
const ELSEWHERE = /^(?:node_modules|dist|src|lib|es|esm|cjs|umd|test|tests|docs|examples|bin|scripts|types)$/;

function fromExports(name: string, exports: unknown): string[] {
  if (typeof exports !== 'object' || exports === null) return [];
  return Object.entries(exports)
    .filter(
      ([key, target]) =>
        key.startsWith('./') && !/[*]|\.(?:json|css|d\.ts|node|wasm)$/.test(key) && target !== null,
    )
    .map(([key]) => `${name}/${key.slice(2)}`);
}

/** Scripts beside the package's main one, and one folder deep: how packages without `exports` offer parts. */
async function fromFiles(name: string, folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isFile() && /^[^._][^/]*(?<!\.min|\.config|file)\.js$/.test(entry.name)) found.push(entry.name);
    if (!entry.isDirectory() || entry.name.startsWith('.') || ELSEWHERE.test(entry.name)) continue;
    for (const inner of await readdir(join(folder, entry.name), { withFileTypes: true }))
      if (inner.isFile() && inner.name.endsWith('.js') && !inner.name.startsWith('_'))
        found.push(`${entry.name}/${inner.name}`);
  }
  return found.map((file) => `${name}/${file}`);
}

/** The other modules that a package offers, such as `dayjs/plugin/utc`: none where they are too many. */
export async function subpathsOf(name: string, nodeModules: string): Promise<string[]> {
  const folder = join(nodeModules, name);
  const { exports } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    exports?: unknown;
  };
  const found = exports === undefined ? await fromFiles(name, folder) : fromExports(name, exports);
  if (found.length > MOST_SUBPATHS) return [];
  // Without `exports`, the ending may be left out.
  return exports === undefined ? found.flatMap((path) => [path, path.slice(0, -'.js'.length)]) : found;
}
