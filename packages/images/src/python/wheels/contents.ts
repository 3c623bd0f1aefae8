import type { ArchiveFile } from './archive.ts';

/** The files of a wheel that belong in the site folder (site-packages) of an image, by path. */
export interface WheelContents {
  readonly files: ReadonlyMap<string, ArchiveFile>;
  /** Importable names such as `bs4`, public ones first. */
  readonly modules: readonly string[];
  /** Files that would run code when an interpreter starts; they are never installed. */
  readonly startupFiles: readonly string[];
}

/** Files of a wheel's metadata folder that programs read; the file list and signatures are not needed in an image. */
const INSTALLED_METADATA =
  /\.dist-info\/(?:METADATA|entry_points\.txt|top_level\.txt|WHEEL|licenses\/.*|LICEN[CS]E[^/]*)$/;

/** Files that Python executes when it starts. */
const STARTUP_FILE = /^(?:[^/]+\.pth|(?:site|user)customize(?:\.py|\/.*|(?:\..*)?\.so))$/;

/** Compiled files, and files for compilers only. */
const EXCLUDED_FILE = /\.(?:pyc|pyo|a|lib)$|(?:^|\/)__pycache__\//;

/** Scripts, headers and data, which do not belong in the site folder. */
const OTHER_DATA = /^[^/]+\.data\//;
const SITE_DATA = /^[^/]+\.data\/(?:purelib|platlib)\//;

/** Selects the contents of an unpacked wheel. */
export function contentsOf(archiveFiles: readonly ArchiveFile[]): WheelContents {
  const files = new Map<string, ArchiveFile>();
  const startupFiles: string[] = [];
  for (const file of archiveFiles) {
    const path = file.path.replace(SITE_DATA, '');
    if (OTHER_DATA.test(path) || EXCLUDED_FILE.test(path)) continue;
    if (/^[^/]+\.dist-info\//.test(path) && !INSTALLED_METADATA.test(path)) continue;
    if (STARTUP_FILE.test(path)) startupFiles.push(path);
    else files.set(path, file);
  }
  return { files, modules: modulesOf([...files.keys()]), startupFiles };
}

/** Returns the warning about files of a wheel that would run when Python starts. */
export function startupWarning(wheelName: string, startupFiles: readonly string[]): string {
  return `${wheelName}: ${startupFiles.join(', ')} would run when Python starts, so they are not installed.`;
}

const MODULE = /^([A-Za-z_]\w*)(?:\.py|(?:\.[\w-]+)*\.so)$/;

/** Modules of the interpreter itself, which take precedence over packages with the same name. */
const INTERPRETER_MODULES = new Set(['js', 'pyodide', 'pyodide_js', '_pyodide', '__main__']);

/**
 * Returns the names to import for all packages among the files: top-level modules, folders with an `__init__`, and the
 * modules and packages in folders without one (namespace packages).
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
    const depth = parts.findIndex((_, index) => packages.has(parts.slice(0, index + 1).join('/')));
    if (INTERPRETER_MODULES.has(parts[0] ?? name)) continue;
    modules.add(depth >= 0 ? parts.slice(0, depth + 1).join('.') : [...parts, name].join('.'));
  }
  return [...modules].sort(comparePublicFirst);
}

function comparePublicFirst(a: string, b: string): number {
  return Number(a.startsWith('_')) - Number(b.startsWith('_')) || (a < b ? -1 : 1);
}
