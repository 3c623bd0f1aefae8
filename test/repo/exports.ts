// npm run exports: checks what a user would install, not the source tree. Each package is packed. publint and attw read
// the tarball. Then all tarballs are unpacked into one folder, and every entry point is imported.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { repositoryFolder } from './sources.ts';

/** The fields of the package.json of a packed package. */
interface PackedManifest {
  readonly name: string;
  readonly exports?: Readonly<Record<string, unknown>>;
  readonly bin?: Readonly<Record<string, string>>;
}

interface ProcessResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface AttwReport {
  readonly analysis: {
    readonly entrypoints: {
      readonly [entryPoint: string]: {
        readonly resolutions: {
          readonly 'node16-esm': { resolution?: { isTypeScript: boolean; isJson: boolean } };
        };
      };
    };
  };
}

const binPath = (name: string): string => join(repositoryFolder, 'node_modules/.bin', name);

function run(command: string, args: readonly string[], folder = repositoryFolder): ProcessResult {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' });
  if (error) throw error;
  return { code: status ?? 1, stdout, stderr };
}

/** Packs the package in `folder` into `destination` without running its scripts. Returns the path of the tarball. */
export function pack(folder: string, destination: string): string {
  const result = run(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--pack-destination', destination],
    folder,
  );
  if (result.code !== 0) throw new Error(`npm pack failed in ${folder}: ${result.stderr}`);
  return join(destination, (JSON.parse(result.stdout) as [{ filename: string }])[0].filename);
}

function publintProblems(tarball: string): string[] {
  const result = run(binPath('publint'), [tarball, '--strict']);
  if (result.code === 0 && !result.stdout.includes('All good')) return ['publint did not report a result'];
  return result.code === 0 ? [] : [`publint: ${result.stdout.trim()}`];
}

function attwProblems(tarball: string): string[] {
  const result = run(binPath('attw'), [tarball, '--profile', 'esm-only', '-f', 'json']);
  if (result.code !== 0) return [`attw: ${result.stdout || result.stderr}`];
  const { entrypoints } = (JSON.parse(result.stdout) as AttwReport).analysis;
  const untypedEntryPoints = Object.entries(entrypoints).filter(([, { resolutions }]) => {
    const { resolution } = resolutions['node16-esm'];
    return resolution?.isTypeScript !== true && resolution?.isJson !== true;
  });
  if (entrypoints['.'] === undefined) return ['attw found no entry point "."'];
  return untypedEntryPoints.map(([entry]) => `attw found no types of the entry point "${entry}"`);
}

/** Returns the problems that publint and attw find in one tarball. */
function tarballProblems(tarball: string): string[] {
  return [...publintProblems(tarball), ...attwProblems(tarball)];
}

function unpack(tarball: string, nodeModules: string): PackedManifest {
  const folder = mkdtempSync(join(nodeModules, '.unpack-'));
  execFileSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1']);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackedManifest;
  const target = join(nodeModules, manifest.name);
  mkdirSync(join(target, '..'), { recursive: true });
  rmSync(target, { recursive: true, force: true });
  renameSync(folder, target);
  return manifest;
}

/** Unpacks `tarballs` into `folder`/node_modules, next to links to the repository's third-party packages. */
export function install(tarballs: readonly string[], folder: string): PackedManifest[] {
  const nodeModules = join(folder, 'node_modules');
  mkdirSync(nodeModules, { recursive: true });
  for (const name of readdirSync(join(repositoryFolder, 'node_modules'))) {
    if (name.startsWith('.') || name === '@heddle' || name === 'heddle') continue;
    symlinkSync(join(repositoryFolder, 'node_modules', name), join(nodeModules, name));
  }
  return tarballs.map((tarball) => unpack(tarball, nodeModules));
}

function targetsOf(exportTarget: unknown): string[] {
  return typeof exportTarget === 'string'
    ? [exportTarget]
    : Object.values(exportTarget ?? {}).flatMap(targetsOf);
}

/** Returns the required files that the unpacked packages lack: their licence, and the targets of every condition. */
function missingFiles(manifests: readonly PackedManifest[], folder: string): string[] {
  return manifests.flatMap(({ name, exports }) =>
    ['LICENSE', ...targetsOf(exports)]
      .filter((file) => !existsSync(join(folder, 'node_modules', name, file)))
      .map((file) => `${name}: ${file} is not in the tarball`),
  );
}

/** Returns the specifiers of the entry points of a package in `nodeModules`, except those that have only types. */
function entryPointsOf({ name, exports = {} }: PackedManifest, nodeModules: string): string[] {
  const entries = Object.entries(exports).filter(([path, exportTarget]) => {
    const types = targetsOf(exportTarget).find((file) => file.endsWith('.d.ts'));
    return !path.endsWith('.json') && !(types && hasOnlyTypes(join(nodeModules, name, types)));
  });
  return entries.map(([path]) => posix.join(name, path));
}

/** Returns whether a declaration file exports only types, so that its module is empty. */
function hasOnlyTypes(file: string): boolean {
  if (!existsSync(file)) return false;
  const exportMatches = [...readFileSync(file, 'utf8').matchAll(/^export (\S+)/gm)];
  return (
    exportMatches.length > 0 && exportMatches.every(([, kind]) => kind === 'type' || kind === 'interface')
  );
}

/** Returns arguments with which Node imports `entryPoint`. Node fails if the entry point exports nothing. */
function importArguments(entryPoint: string): string[] {
  const namesExpression = `Object.keys(await import(${JSON.stringify(entryPoint)}))`;
  const code = `if (${namesExpression}.length === 0) throw new Error('${entryPoint} exports nothing');`;
  return ['--input-type=module', '-e', code];
}

/** Returns the problems of importing every entry point of the unpacked packages, and of starting every bin. */
function importProblems(manifests: readonly PackedManifest[], folder: string): string[] {
  return manifests.flatMap((manifest) => {
    const entryPoints = entryPointsOf(manifest, join(folder, 'node_modules'));
    const importResults = entryPoints.map((entryPoint) =>
      run(process.execPath, importArguments(entryPoint), folder),
    );
    const startResults = Object.values(manifest.bin ?? {}).map((file) =>
      run(process.execPath, [join(folder, 'node_modules', manifest.name, file), '--version']),
    );
    return [...importResults, ...startResults]
      .filter((result) => result.code !== 0)
      .map((result) => `${manifest.name}: ${result.stderr.trim()}`);
  });
}

/** Returns every problem of the packages in `folders`, packed and unpacked as a user gets them. */
export function packageProblems(folders: readonly string[]): string[] {
  const scratchFolder = mkdtempSync(join(tmpdir(), 'heddle-exports-'));
  try {
    const tarballs = folders.map((folder) => pack(folder, scratchFolder));
    const manifests = install(tarballs, scratchFolder);
    return [
      ...tarballs.flatMap(tarballProblems),
      ...missingFiles(manifests, scratchFolder),
      ...importProblems(manifests, scratchFolder),
    ];
  } finally {
    rmSync(scratchFolder, { recursive: true, force: true });
  }
}

function main(): void {
  const folders = globSync('packages/*/package.json', { cwd: repositoryFolder }).map((file) =>
    resolve(repositoryFolder, file, '..'),
  );
  if (folders.length === 0) throw new Error('No packages found.');
  const problems = packageProblems(folders);
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.stdout.write(`${folders.length} packages checked, ${problems.length} problems.\n`);
  process.exitCode = problems.length === 0 ? 0 : 1;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main();
