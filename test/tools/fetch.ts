import { spawnSync } from 'node:child_process';
import type { SpawnSyncReturns } from 'node:child_process';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type AptInstall, type InstallMethod, type Tool, TOOLS } from './tools.ts';

/** A tool that works on this machine: its executable, and the environment to start it with. */
export interface FoundTool {
  readonly path: string;
  /** The folder that it was unpacked to, if it was downloaded. */
  readonly tree?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A tool, or the reason why no tool was found. The reason names everything that was tried. */
export type ToolSearchResult =
  | { readonly tool: FoundTool }
  | { readonly tool?: undefined; readonly reason: string };

type Env = Readonly<Record<string, string | undefined>>;

const DOWNLOAD_TIMEOUT_MS = 300_000;
/** The longest build takes four minutes on two free cores, and tests run at the same time. */
const BUILD_TIMEOUT_MS = 1_800_000;

/** Returns the folder of unpacked tools. It is outside the repository, so that all clones share it. */
export function cacheFolder(env: Env): string {
  return join(
    env['XDG_CACHE_HOME'] || join(homedir(), '.cache'),
    'heddle-tools',
    `${process.platform}-${process.arch}`,
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Returns the path of the first executable of the tool in these folders. */
function findExecutable(
  folders: readonly string[],
  { command, alternatives = [] }: Tool,
): string | undefined {
  const names = [command, ...alternatives];
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable);
}

function findOnPath(tool: Tool, env: Env): string | undefined {
  const path = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const toolFolders = (tool.folders ?? []).map((folder) => join('/', folder));
  return findExecutable([...path, ...toolFolders], tool);
}

function runCommand(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env: Env; timeout?: number },
): SpawnSyncReturns<string> {
  return spawnSync(command, args, { timeout: DOWNLOAD_TIMEOUT_MS, ...options, encoding: 'utf8' });
}

/** Runs a command. Returns a message with the last line of its output if the command failed. */
function tryCommand(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env: Env; timeout?: number },
): string | undefined {
  const result = runCommand(command, args, options);
  if (result.error) return `${command}: ${result.error.message}`;
  if (result.status === 0) return undefined;
  const lastLine = `${result.stdout}\n${result.stderr}`.trim().split('\n').at(-1);
  return `${command} ${args[0] ?? ''} exited with ${result.status ?? result.signal}: ${lastLine}`;
}

/** Returns the library folders of an unpacked Debian package. */
export function libraryFoldersOf(root: string): string[] {
  return ['usr/lib', 'lib'].flatMap((folder) => {
    const base = join(root, folder);
    if (!existsSync(base)) return [];
    const triples = readdirSync(base).filter((name) => /-linux-/.test(name));
    return [...triples.flatMap((triple) => listLibraryFolders(join(base, triple))), base];
  });
}

/** Returns a library folder and its subfolders with private libraries of packages. */
function listLibraryFolders(folder: string): string[] {
  const subfolders = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const libraryFolders = subfolders
    .map(({ name }) => join(folder, name))
    .filter((subfolder) => readdirSync(subfolder).some((name) => /^lib.*\.so(\.|$)/.test(name)));
  return [folder, ...libraryFolders];
}

/**
 * Returns environment variables with which fontconfig finds its settings and fonts in `root`, if the machine has none.
 */
function fontVariables(root: string): Env {
  const settings = 'etc/fonts';
  return existsSync(join('/', settings)) || !existsSync(join(root, settings))
    ? {}
    : { FONTCONFIG_PATH: join(root, settings), XDG_DATA_HOME: join(root, 'usr/share') };
}

function findUnpackedTool(tool: Tool, root: string, env: Env): FoundTool | undefined {
  const programFolders = [...(tool.folders ?? []), 'bin', 'usr/bin', 'usr/sbin', 'sbin'];
  const path = findExecutable(
    programFolders.map((folder) => join(root, folder)),
    tool,
  );
  if (!path) return undefined;
  const folders = [...libraryFoldersOf(root), env['LD_LIBRARY_PATH']].filter(Boolean);
  const toolEnv = { ...env, ...fontVariables(root) };
  return {
    ...{ path, tree: root },
    env: folders.length > 0 ? { ...toolEnv, LD_LIBRARY_PATH: folders.join(':') } : toolEnv,
  };
}

/** Returns options with which apt-get stores its lists in `folder`, so that it can update them without root. */
function localListOptions(folder: string): string[] {
  mkdirSync(join(folder, 'lists/partial'), { recursive: true });
  mkdirSync(join(folder, 'cache/archives/partial'), { recursive: true });
  const dirs = { 'Dir::State::lists': join(folder, 'lists'), 'Dir::Cache': join(folder, 'cache') };
  return Object.entries(dirs).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
}

function aptDownload(method: AptInstall, folder: string, env: Env): string | undefined {
  const download = (options: readonly string[]): string | undefined => {
    const dependencies = method.dependencies ? dependenciesOf(method.apt, options, env) : [];
    const packages = [...method.apt, ...dependencies];
    return tryCommand('apt-get', ['download', ...options, ...new Set(packages)], { cwd: folder, env });
  };
  if (download([]) === undefined) return undefined;
  // The machine may have no package lists, like a bare container: download them into a temporary folder.
  const options = localListOptions(join(folder, 'apt'));
  return tryCommand('apt-get', ['update', ...options], { cwd: folder, env }) ?? download(options);
}

/** Returns the packages that a simulated `apt-get install` lists for `packages`; none if a package is unknown. */
function dependenciesOf(packages: readonly string[], options: readonly string[], env: Env): string[] {
  const args = ['install', '--simulate', '--no-install-recommends', ...options, ...packages];
  const { stdout } = runCommand('apt-get', args, { env });
  const names = [...(stdout ?? '').matchAll(/^Inst (\S+)/gm)].map(([, name = '']) => name);
  // The C library must be that of the machine, because it works only with the machine's loader.
  return names.filter((name) => !/^libc6(:|$)/.test(name));
}

function aptInstall(method: AptInstall, root: string, env: Env): string | undefined {
  const problem = aptDownload(method, root, env);
  if (problem !== undefined) return problem;
  const archives = readdirSync(root).filter((name) => name.endsWith('.deb'));
  const problems = archives.map((name) => tryCommand('dpkg-deb', ['-x', join(root, name), root], { env }));
  for (const name of [...archives, 'apt']) rmSync(join(root, name), { recursive: true, force: true });
  return problems.find((candidate) => candidate !== undefined);
}

function goInstall(target: string, root: string, env: Env): string | undefined {
  process.stderr.write(
    `Building ${target} with go, because it was not found. This takes several minutes, but only the first time.\n`,
  );
  return tryCommand('go', ['install', target], {
    cwd: root,
    env: { ...env, GOBIN: join(root, 'bin'), GOFLAGS: '' },
    timeout: BUILD_TIMEOUT_MS,
  });
}

/** Installs a Python package and a script that starts it. The folder can be moved afterwards. */
function pipInstall(target: string, root: string, env: Env): string | undefined {
  const packages = join(root, 'python');
  const pipArgs = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--target',
    packages,
    target,
  ];
  const problem = tryCommand('python3', pipArgs, { env });
  if (problem !== undefined) return problem;
  const [name = ''] = target.split('==');
  const script = join(root, 'bin', name);
  const pythonFolder = '$(dirname "$(readlink -f "$0")")/../python';
  mkdirSync(join(root, 'bin'));
  const startCommand = `PYTHONPATH="${pythonFolder}" exec python3 "${pythonFolder}/bin/${name}" "$@"`;
  writeFileSync(script, `#!/bin/sh\n${startCommand}\n`, { mode: 0o755 });
  return undefined;
}

function runInstallMethod(method: InstallMethod, root: string, env: Env): string | undefined {
  if ('apt' in method) return aptInstall(method, root, env);
  return 'go' in method ? goInstall(method.go, root, env) : pipInstall(method.pip, root, env);
}

/**
 * Installs the tool into `installFolder` by `method`. Returns the problem if the installation fails. If several
 * processes install the tool at the same time, the first installation stays.
 */
function install(tool: Tool, method: InstallMethod, installFolder: string, env: Env): string | undefined {
  mkdirSync(join(installFolder, '..'), { recursive: true });
  const scratchFolder = mkdtempSync(`${installFolder}.`);
  try {
    const problem = runInstallMethod(method, scratchFolder, env);
    if (problem !== undefined) return problem;
    const existingTool = findUnpackedTool(tool, installFolder, env);
    if (existingTool && checkTool(tool, existingTool).tool) return undefined;
    rmSync(installFolder, { recursive: true, force: true });
    renameSync(scratchFolder, installFolder);
    return undefined;
  } finally {
    rmSync(scratchFolder, { recursive: true, force: true });
  }
}

/** Returns the tool if its check passes, otherwise the reason why it does not work. */
function checkTool({ checkArgs: args }: Tool, tool: FoundTool): ToolSearchResult {
  const problem = tryCommand(tool.path, args, { env: tool.env });
  return problem === undefined ? { tool } : { reason: `does not work here: ${problem}` };
}

/** Returns true if `tool` is on PATH or in the cache. Does not start it. */
export function isInstalled(name: string, tool: Tool, env: Env = process.env): boolean {
  return (findOnPath(tool, env) ?? findUnpackedTool(tool, join(cacheFolder(env), name), env)) !== undefined;
}

/** Finds `tool` on PATH or in the cache, or installs it into the cache. Never needs root. */
export function fetchTool(name: string, tool: Tool, env: Env = process.env): ToolSearchResult {
  const reasons: string[] = [];
  const checkCandidate = (label: string, candidate: FoundTool | undefined): FoundTool | undefined => {
    if (!candidate) return undefined;
    const result = checkTool(tool, candidate);
    if (!result.tool) reasons.push(`${label}: ${result.reason}`);
    return result.tool;
  };
  const path = findOnPath(tool, env);
  const installFolder = join(cacheFolder(env), name);
  const availableTool =
    checkCandidate('PATH', path ? { path, env } : undefined) ??
    checkCandidate('cache', findUnpackedTool(tool, installFolder, env));
  if (availableTool) return { tool: availableTool };
  for (const method of tool.installMethods) {
    const label = 'apt' in method ? 'apt-get download' : 'go' in method ? 'go install' : 'pip install';
    const problem = install(tool, method, installFolder, env);
    if (problem !== undefined) reasons.push(`${label}: ${problem}`);
    const installedTool =
      problem === undefined ? checkCandidate(label, findUnpackedTool(tool, installFolder, env)) : undefined;
    if (installedTool) return { tool: installedTool };
  }
  return { reason: `${name} (${tool.command}) is not on PATH. ${reasons.join('; ')}` };
}

const resultsByName = new Map<string, ToolSearchResult>();

/** Returns true if the environment variable HEDDLE_REQUIRE (names, comma-separated) contains `name`. */
export function isRequired(name: string, env: Env = process.env): boolean {
  const requiredNames = (env['HEDDLE_REQUIRE'] ?? '').split(',').map((part) => part.trim());
  return requiredNames.includes(name);
}

/** Returns the tool `name` from the table. Throws if the table has no such tool. */
export function getTool(name: string, tools = TOOLS): Tool {
  const tool = tools[name];
  if (!tool) throw new Error(`No tool "${name}" in test/tools/tools.ts. Add it there.`);
  return tool;
}

/**
 * Returns the tool `name` from the table. If it is missing, prints why its tests are skipped and returns undefined.
 *
 * @throws if the tool is missing and the environment variable HEDDLE_REQUIRE contains `name`.
 */
export function resolveTool(name: string, tools = TOOLS): FoundTool | undefined {
  const tool = getTool(name, tools);
  const result = resultsByName.get(name) ?? fetchTool(name, tool);
  resultsByName.set(name, result);
  return toFoundTool(name, result);
}

/**
 * Returns the tool that a search has found. If it has found none, prints why tests are skipped and returns undefined.
 *
 * @throws if the tool is missing and the environment variable HEDDLE_REQUIRE contains `name`.
 */
export function toFoundTool(name: string, result: ToolSearchResult): FoundTool | undefined {
  if (result.tool) return result.tool;
  if (isRequired(name)) throw new Error(`HEDDLE_REQUIRE names ${name}: ${result.reason}`);
  process.stderr.write(`Tests skipped: ${result.reason}\n`);
  return undefined;
}

function main(names: readonly string[]): void {
  for (const name of names.length > 0 ? names : Object.keys(TOOLS)) {
    const tool = resolveTool(name);
    if (tool) process.stdout.write(`${name}: ${tool.path}\n`);
    else process.exitCode = 1;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) main(process.argv.slice(2));
