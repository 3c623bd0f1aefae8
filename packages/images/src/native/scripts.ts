import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  freeProcessUid,
  JAIL_PATHS,
  jailEnvironment,
  runProcessTree,
  takeProcessUid,
  type ProcessTreeEnd,
} from '@heddle/sandbox/build';
import type { BuildContext } from '../builder.ts';
import { ImageError } from '../error.ts';
import { logLines } from '../log.ts';
import { chownTree, reclaimTree } from '../ownership.ts';
import type { ScriptedPackage } from '../javascript/lockfile.ts';
import type { Npm } from '../javascript/npm.ts';
import type { NpmSettings } from '../javascript/npm-settings.ts';
import { RegistryProxy } from '../javascript/registry-proxy.ts';
import { checkInstalledPackages, watchSize } from '../javascript/size.ts';
import type { RootJobRunner } from './root-job-runner.ts';

/** Time limit of one package's scripts, which may compile. */
const MAX_SCRIPT_MS = 600_000;
const LIMITS = { memoryMiB: 2_048, diskMiB: 512, processes: 256 };
const MAX_OUTPUT_BYTES = 16 * 2 ** 20;

/** Paths of npm and of the Node.js headers while scripts run. */
const NPM_PATH = '/run/heddle/npm';
const HEADERS_PATH = '/run/heddle/headers';

/** The location of packages, and the programs that run their scripts. */
interface ScriptEnvironment {
  /** The root file system that is being built. */
  readonly root: string;
  /** The folder that contains `node_modules`, relative to the root. */
  readonly folder: string;
  readonly npm: Npm;
  readonly rootJobRunner: RootJobRunner;
}

/** Returns the installation folder of the host's Node.js, or undefined if it has no headers. */
function nodeFolderWithHeaders(execPath: string): string | undefined {
  const nodeFolder = dirname(dirname(execPath));
  return existsSync(join(nodeFolder, 'include', 'node', 'node_version.h')) ? nodeFolder : undefined;
}

function environmentVariablesOf(hasHeaders: boolean, settings: NpmSettings): Record<string, string> {
  const npmSettings = Object.entries(settings).map(([key, value]) => [`npm_config_${key}`, value] as const);
  return {
    ...Object.fromEntries(npmSettings),
    ...jailEnvironment(true),
    NODE_OPTIONS: `--require ${JAIL_PATHS.boot}/registry.cjs`,
    HEDDLE_REGISTRY: JAIL_PATHS.proxy,
    npm_config_cache: `${JAIL_PATHS.work}/.npm`,
    ...(hasHeaders && { npm_config_nodedir: HEADERS_PATH }),
  };
}

/** Returns the line that states why a script failed; the surrounding lines of npm and node-gyp are less specific. */
function reasonOf({ stderr, stopReason, exitCode }: ProcessTreeEnd): string {
  if (stopReason === 'memory') return `it took more than ${LIMITS.memoryMiB} MiB of memory`;
  if (stopReason !== undefined)
    return `it took more than ${MAX_SCRIPT_MS / 60_000} minutes, or printed too much`;
  const lines = stderr.split('\n').map((line) => line.trim());
  const scriptLines = lines.filter(
    (line) => line !== '' && !/^(?:npm |gyp (?:info|verb)|node:|at |Node\.js v)/.test(line),
  );
  return scriptLines.at(-1)?.slice(0, 300) ?? `exit code ${exitCode}`;
}

/**
 * Runs the install scripts of packages inside their image, as npm would. The sandbox contains the whole image, allows
 * writing only to the packages, and connects only to their registry. Returns warnings.
 * @throws ImageError unsupported_package, naming the package whose script failed.
 */
export async function runScripts(
  packages: readonly ScriptedPackage[],
  environment: ScriptEnvironment,
  context: BuildContext,
): Promise<readonly string[]> {
  if (packages.length === 0) return [];
  const { uids } = await environment.rootJobRunner.confinement();
  const nodeModules = join(environment.root, environment.folder, 'node_modules');
  const uid = uids === undefined ? undefined : takeProcessUid(uids);
  const proxy = await RegistryProxy.open(context.registries.npm ?? {});
  const sizeWatcher = watchSize(nodeModules, environment.npm.maxSize, context.signal);
  try {
    if (uid !== undefined) await chownTree(nodeModules, uid);
    const warnings: string[] = [];
    for (const installedPackage of packages) {
      context.reportProgress(`running the install script of ${installedPackage.name}`);
      const end = await runScript(
        installedPackage,
        { ...environment, proxy, uid, signal: sizeWatcher.signal },
        context,
      );
      sizeWatcher.signal.throwIfAborted();
      if (end.exitCode === 0) continue;
      const failure = failureOf(installedPackage, end, proxy.failureReason);
      if (!installedPackage.optional) throw failure;
      await rm(join(environment.root, environment.folder, installedPackage.path), {
        recursive: true,
        force: true,
      });
      warnings.push(`${failure.message} It is optional and was not installed.`);
    }
    await reclaimTree(nodeModules);
    await checkInstalledPackages(nodeModules, environment.npm.maxSize);
    return warnings;
  } finally {
    sizeWatcher.stop();
    await proxy.close();
    if (uid !== undefined) freeProcessUid(uid);
  }
}

async function runScript(
  { path }: ScriptedPackage,
  {
    root,
    folder,
    npm,
    rootJobRunner,
    proxy,
    uid,
    signal,
  }: ScriptEnvironment & {
    readonly proxy: RegistryProxy;
    readonly uid: number | undefined;
    readonly signal: AbortSignal;
  },
  context: BuildContext,
): Promise<ProcessTreeEnd> {
  const { execPath } = process;
  const nodeFolder = nodeFolderWithHeaders(execPath);
  const nodeModules = `${folder}/node_modules`;
  const tree = {
    jail: {
      rootfs: root,
      execPath,
      command: [JAIL_PATHS.node, `${JAIL_PATHS.boot}/boot.cjs`],
      environment: environmentVariablesOf(nodeFolder !== undefined, proxy.settings),
      limits: LIMITS,
      cpuSeconds: MAX_SCRIPT_MS / 1_000,
      proxy: proxy.path,
      folder: `/${folder}`,
      mounts: [
        ...['--bind', join(root, nodeModules), `/${nodeModules}`],
        ...['--ro-bind', dirname(dirname(npm.program)), NPM_PATH],
        ...(nodeFolder === undefined
          ? []
          : ['--ro-bind', join(nodeFolder, 'include'), `${HEADERS_PATH}/include`]),
      ],
    },
    job: JSON.stringify({ language: 'command', command: rebuildCommand(path) }),
    limits: { cpuMs: MAX_SCRIPT_MS, wallMs: MAX_SCRIPT_MS, resultBytes: 0, outputBytes: MAX_OUTPUT_BYTES },
    ...(uid !== undefined && { uid }),
    signal,
  };
  const confinement = await rootJobRunner.confinement();
  return logLines(context, (onOutput) => runProcessTree(confinement, { ...tree, onOutput }));
}

/** Returns the command of npm that runs the install scripts of the package at a path. */
function rebuildCommand(path: string): readonly string[] {
  const scriptFlags = ['--foreground-scripts', '--dangerously-allow-all-scripts', '--no-audit', '--no-fund'];
  const quietFlags = ['--no-update-notifier', '--no-progress', '--logs-max=0', '--loglevel=error'];
  return [
    JAIL_PATHS.node,
    `${NPM_PATH}/bin/npm-cli.js`,
    'rebuild',
    `./${path}`,
    ...scriptFlags,
    ...quietFlags,
  ];
}

function failureOf(
  { name }: ScriptedPackage,
  end: ProcessTreeEnd,
  requestFailure: string | undefined,
): ImageError {
  if (end.exitCode === null && end.stopReason === undefined)
    return new ImageError('provider_error', `No process could be started in the image: ${end.stderr}.`);
  const requestSentence = requestFailure === undefined ? '' : ` ${requestFailure}`;
  return new ImageError(
    'unsupported_package',
    `The package ${name} needs its install script, which failed: ${reasonOf(end)}.${requestSentence} Scripts can only access the registry; system packages that they need (such as g++, make and python3) have to be listed in systemPackages.`,
  );
}
