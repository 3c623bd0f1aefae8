import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type EcmaScriptModule, type Program, parseSync } from 'oxc-parser';

/** One module of a package. */
export interface Module {
  /** The folder of the package under packages/. */
  readonly packageFolder: string;
  /** The path, relative to the repository. */
  readonly file: string;
  readonly text: string;
  readonly isTest: boolean;
  /** The specifiers of all imports, without the prefixes `lazy:` and `onDemand:`. */
  readonly imports: readonly string[];
  /** The specifiers of the imports that the compiler keeps. */
  readonly runtimeImports: readonly string[];
  /** The specifiers of re-exports, of imports without names, and of modules that are evaluated at their first use. */
  readonly indirectImports: readonly string[];
  /** The exported names, including types; `*` for an `export *`. */
  readonly exports: readonly string[];
  readonly program: Program;
}

/** The fields of a package.json that the tests read. */
export interface Manifest {
  readonly name: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly engines?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, unknown>>;
}

export const repositoryFolder = fileURLToPath(new URL('../..', import.meta.url));

/** Returns the text of `file`, relative to the repository. */
export function readText(file: string): string {
  return readFileSync(join(repositoryFolder, file), 'utf8');
}

/** Returns the value of the JSON in `file`, relative to the repository. The JSON may have comment lines. */
export function readJson<T>(file: string): T {
  return parseJson(readText(file)) as T;
}

/** Returns the value of JSON in which lines that start with `//` are comments. */
export function parseJson(text: string): unknown {
  return JSON.parse(text.replaceAll(/^\s*\/\/.*$/gm, ''));
}

/** Returns the sorted folder names under packages/. */
export function packageFolders(): string[] {
  return globSync('packages/*/package.json', { cwd: repositoryFolder })
    .map((file) => file.split(/[\\/]/)[1] as string)
    .sort();
}

/** Calls `visit` for every node of the syntax tree `root`. */
export function walk(root: unknown, visit: (node: Record<string, unknown>) => void): void {
  if (Array.isArray(root)) {
    for (const item of root) walk(item, visit);
  } else if (typeof root === 'object' && root !== null) {
    const node = root as Record<string, unknown>;
    if (typeof node['type'] === 'string') visit(node);
    for (const value of Object.values(node)) walk(value, visit);
  }
}

/** Returns the function of the call `it(…)`, `it.each(…)(…)` or `test.skipIf(…)(…)`: `it` or `test`. */
export function calledFunction(callee: unknown): string | undefined {
  const {
    name,
    object,
    callee: innerCallee,
  } = callee as { name?: string; object?: unknown; callee?: unknown };
  const innerNode = object ?? innerCallee;
  return innerNode === undefined ? name : calledFunction(innerNode);
}

const IMPORT_NODE_TYPES = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
  'TSExternalModuleReference',
]);

/**
 * In the bundle of the sandbox, `lazy:./x.ts` and `onDemand:./x.ts` are the module ./x.ts, evaluated at its first use.
 */
const LAZY_PREFIX = /^(?:lazy|onDemand):/;

function isIndirect(node: Record<string, unknown>, specifier: string): boolean {
  if (node['type'] === 'TSImportType') return false;
  const names = node['type'] === 'ImportDeclaration' ? (node['specifiers'] as unknown[]) : [];
  return names.length === 0 || LAZY_PREFIX.test(specifier);
}

interface Import {
  readonly specifier: string;
  /** False if the compiler removes the import. It keeps an import whose names are all types, without the names. */
  readonly isRuntime: boolean;
  readonly isIndirect: boolean;
}

/** Returns every module specifier in `program`: static, dynamic, re-exported, and in types. */
function importsOf(program: Program): Import[] {
  const imports: Import[] = [];
  walk(program.body, (node) => {
    if (!IMPORT_NODE_TYPES.has(node['type'] as string)) return;
    const source = (node['source'] ?? node['argument'] ?? node['expression']) as { value?: unknown } | null;
    if (typeof source?.value !== 'string') return;
    const isType = node['importKind'] === 'type' || node['exportKind'] === 'type';
    const isRuntime = !isType && node['type'] !== 'TSImportType';
    const specifier = source.value.replace(LAZY_PREFIX, '');
    imports.push({ specifier, isRuntime, isIndirect: isIndirect(node, source.value) });
  });
  return imports;
}

function exportsOf(module: EcmaScriptModule): string[] {
  const names = module.staticExports.flatMap(({ entries }) => entries.map(({ exportName }) => exportName));
  return names.map(({ kind, name }) => name ?? (kind === 'Default' ? 'default' : '*')).sort();
}

/** Returns the module of `text`. Throws if it does not parse, so that no module stays unchecked. */
export function parseModule(folder: string, file: string, text: string): Module {
  const { program, module, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0]?.message}`);
  const isTest = file.endsWith('.test.ts');
  const imports = importsOf(program);
  return {
    packageFolder: folder,
    file,
    text,
    isTest,
    imports: imports.map(({ specifier }) => specifier),
    runtimeImports: imports.filter(({ isRuntime }) => isRuntime).map(({ specifier }) => specifier),
    indirectImports: imports.filter(({ isIndirect }) => isIndirect).map(({ specifier }) => specifier),
    exports: exportsOf(module),
    program,
  };
}

/** Returns the path, relative to the repository, of the file that a relative import in `file` names. */
export function importedFile(file: string, specifier: string): string {
  return posix.join(posix.dirname(file), specifier);
}

/** Returns every module under packages/`folder`/src, parsed. */
export function modulesOf(folder: string): Module[] {
  return modulesIn(`packages/${folder}/src/**/*.ts`);
}

/** Returns the modules whose paths, relative to the repository, match a pattern, parsed. */
export function modulesIn(pattern: string): Module[] {
  return globSync(pattern, { cwd: repositoryFolder, exclude: ['**/node_modules/**'] })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()
    .map((file) => parseModule(file.split('/')[1] as string, file, readText(file)));
}
