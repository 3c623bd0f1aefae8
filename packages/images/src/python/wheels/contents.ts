import type { ArchiveFile } from './archive.ts';

/** What of a wheel goes into the site folder of an image, and under which path. */
export interface Contents {
  readonly files: ReadonlyMap<string, ArchiveFile>;
  /** Names that can be imported, such as `bs4`, the public ones first. */
  readonly modules: readonly string[];
  /** Files that would run code when an interpreter starts: never installed. */
  readonly startup: readonly string[];
}

/** Of a wheel's own folder what programs look at; the list of files and signatures say nothing of an image. */
const KEPT = /\.dist-info\/(?:METADATA|entry_points\.txt|top_level\.txt|WHEEL|licenses\/.*|LICEN[CS]E[^/]*)$/;

/** Python reads these when it starts, whoever wrote them. */
const STARTUP = /^(?:[^/]+\.pth|(?:site|user)customize(?:\.py|\/.*|(?:\..*)?\.so))$/;

/** Compiled by others, or of use to a compiler only. */
const LEFT_OUT = /\.(?:pyc|pyo|a|lib)$|(?:^|\/)__pycache__\//;

/** Scripts, headers and data outside of the site folder have no place in an image. */
const OTHER_DATA = /^[^/]+\.data\//;
const SITE_DATA = /^[^/]+\.data\/(?:purelib|platlib)\//;

/** The contents of a wheel that is unpacked. */
export function contentsOf(archive: readonly ArchiveFile[]): Contents {
  const files = new Map<string, ArchiveFile>();
  const startup: string[] = [];
  for (const file of archive) {
    const path = file.path.replace(SITE_DATA, '');
    if (OTHER_DATA.test(path) || LEFT_OUT.test(path)) continue;
    if (/^[^/]+\.dist-info\//.test(path) && !KEPT.test(path)) continue;
    if (STARTUP.test(path)) startup.push(path);
    else files.set(path, file);
  }
  return { files, modules: modulesOf([...files.keys()]), startup };
}

const MODULE = /^([A-Za-z_]\w*)(?:\.py|(?:\.[\w-]+)*\.so)$/;

/** Names that the interpreter has modules of its own for, which are found first: what a package has by that name nobody gets. */
const OF_THE_INTERPRETER = new Set(['js', 'pyodide', 'pyodide_js', '_pyodide', '__main__']);

/**
 * What to import to have all of the files' packages: modules at the top, folders with an `__init__`, and of folders without
 * one (namespaces) those within.
 */
export function modulesOf(paths: readonly string[]): string[] {
  const modules = new Set<string>();
  const packages = new Set(
    paths.flatMap((path) => /^(.+)\/__init__\.(?:py|[\w.-]*so)$/.exec(path)?.[1] ?? []),
  );
  for (const path of paths) {
    const parts = path.split('/');
    const name = MODULE.exec(parts.pop() ?? '')?.[1];
    if (name === undefined || !parts.every((part) => /^[A-Za-z_]\w*$/.test(part))) continue;
    const depth = parts.findIndex((_, at) => packages.has(parts.slice(0, at + 1).join('/')));
    if (OF_THE_INTERPRETER.has(parts[0] ?? name)) continue;
    modules.add(depth >= 0 ? parts.slice(0, depth + 1).join('.') : [...parts, name].join('.'));
  }
  return [...modules].sort(publicFirst);
}

function publicFirst(a: string, b: string): number {
  return Number(a.startsWith('_')) - Number(b.startsWith('_')) || (a < b ? -1 : 1);
}
