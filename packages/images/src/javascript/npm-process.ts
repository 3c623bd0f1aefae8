import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  minimalRootFileSystem,
  BOOT_FOLDER,
  type Confinement,
  setprivArguments,
  killOrphanedProcesses,
  JAIL_PATHS,
  prlimitArguments,
  runProcessTree,
} from '@heddle/sandbox/build';
import { ImageError } from '../error.ts';

/** Maximum length of npm's output that is kept, in characters. */
const MAX_OUTPUT_CHARS = 1_000_000;
const MAX_OUTPUT_BYTES = 64 * 2 ** 20;
const MAX_CPU_SECONDS = 1_800;
const MAX_MEMORY_MIB = 2_048;
const MAX_DATA_MIB = 8_192;
const MAX_OPEN_FILES = 4_096;
const MAX_THREADS = 64;

/** Paths of npm and of its folders in the sandbox. */
const NPM_PATH = '/run/heddle/npm';
const FOLDERS = { project: `${JAIL_PATHS.work}/project`, home: `${JAIL_PATHS.work}/home` };

/** File that Node.js loads before npm. It sends npm's HTTP requests to the registry proxy. */
const PRELOADED_FILE = 'registry.cjs';

/** One run of npm. */
interface NpmRun {
  /** Path of npm-cli.js. */
  readonly program: string;
  readonly args: readonly string[];
  /** Writable folders: the project in which it works, and its home. */
  readonly project: string;
  readonly home: string;
  /** Socket of the registry proxy. */
  readonly proxySocket: string;
  /** Maximum size of a written file, in MiB. */
  readonly fileMiB: number;
  /** User id of the process; undefined for the host's user. */
  readonly uid: number | undefined;
}

/** The result of an npm run. */
interface NpmResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface EnvironmentPaths {
  readonly home: string;
  readonly proxySocket: string;
  readonly preloadedFile: string;
}

/** Returns npm's environment: a separate home folder, and access to the registry proxy. */
function environmentOf({ home, proxySocket, preloadedFile }: EnvironmentPaths): Record<string, string> {
  return {
    HOME: home,
    PATH: '/usr/bin:/bin',
    NODE_OPTIONS: `--require ${JSON.stringify(preloadedFile)}`,
    HEDDLE_REGISTRY: proxySocket,
    npm_config_cache: join(home, 'cache'),
    npm_config_userconfig: join(home, '.npmrc'),
    npm_config_globalconfig: join(home, 'global-npmrc'),
  };
}

/** Collects the output of a process, up to a limit. */
function createOutputCollector() {
  const output = { stdout: '', stderr: '' };
  return {
    output,
    onOutput: (data: Buffer, stream: 'stdout' | 'stderr'): void => {
      if (stream === 'stdout' && output.stdout.length < MAX_OUTPUT_CHARS) output.stdout += data.toString();
      if (stream === 'stderr') output.stderr = (output.stderr + data.toString()).slice(-MAX_OUTPUT_CHARS);
    },
  };
}

/**
 * Runs npm in a sandbox with only the host's Node.js and npm, no network except the registry proxy, and no child
 * processes.
 */
async function runJailed(run: NpmRun, confinement: Confinement, signal: AbortSignal): Promise<NpmResult> {
  const { execPath, readablePaths, environment } = minimalRootFileSystem();
  const paths = {
    home: FOLDERS.home,
    proxySocket: JAIL_PATHS.proxy,
    preloadedFile: `${JAIL_PATHS.boot}/${PRELOADED_FILE}`,
  };
  const { output, onOutput } = createOutputCollector();
  const end = await runProcessTree(confinement, {
    jail: {
      execPath,
      readablePaths,
      mounts: [
        ...['--ro-bind', dirname(dirname(run.program)), NPM_PATH],
        ...['--bind', run.project, FOLDERS.project, '--bind', run.home, FOLDERS.home],
      ],
      folder: FOLDERS.project,
      command: [JAIL_PATHS.node, `${NPM_PATH}/bin/npm-cli.js`, ...run.args],
      environment: { ...environmentOf(paths), ...environment },
      limits: { memoryMiB: MAX_MEMORY_MIB, diskMiB: 64, processes: MAX_THREADS },
      fileMiB: run.fileMiB,
      mayStartProcesses: false,
      cpuSeconds: MAX_CPU_SECONDS,
      proxy: run.proxySocket,
    },
    job: '',
    limits: {
      cpuMs: MAX_CPU_SECONDS * 1_000,
      wallMs: MAX_CPU_SECONDS * 1_000,
      resultBytes: 0,
      outputBytes: MAX_OUTPUT_BYTES,
    },
    ...(run.uid !== undefined && { uid: run.uid }),
    signal,
    onOutput,
  });
  if (end.stopReason === 'memory')
    throw new ImageError(
      'install_failed',
      `npm needs more than ${MAX_MEMORY_MIB} MiB of memory for the packages.`,
    );
  if (end.exitCode === null && end.stopReason === undefined)
    throw new ImageError(
      'provider_error',
      `npm could not be started in its sandbox: ${end.stderr.slice(-500) || 'it ended immediately'}.`,
    );
  return { code: end.exitCode, ...output };
}

/** Runs npm as a host process, with resource limits and another user id if available. */
function runAsHostProcess(
  run: NpmRun,
  { level, tools }: Confinement,
  signal: AbortSignal,
): Promise<NpmResult> {
  const { uid, home, proxySocket, fileMiB } = run;
  const limits = { dataMiB: MAX_DATA_MIB, cpuSeconds: MAX_CPU_SECONDS, files: MAX_OPEN_FILES, fileMiB };
  const { setpriv, prlimit } = tools;
  const threads = uid === undefined ? undefined : MAX_THREADS;
  const commandLine = [
    ...(setpriv === undefined || level === 'basic'
      ? []
      : [setpriv, ...setprivArguments(uid, process.geteuid?.() === 0)]),
    ...(prlimit === undefined ? [] : [prlimit, ...prlimitArguments({ ...limits, threads })]),
    ...[process.execPath, run.program, ...run.args],
  ];
  const [file = '', ...args] = commandLine;
  const env = environmentOf({
    home,
    proxySocket,
    preloadedFile: join(realpathSync(BOOT_FOLDER), PRELOADED_FILE),
  });
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      ...{ env, cwd: run.project, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { output, onOutput } = createOutputCollector();
    child.stdout.on('data', (data: Buffer) => onOutput(data, 'stdout'));
    child.stderr.on('data', (data: Buffer) => onOutput(data, 'stderr'));
    const kill = (): void => {
      // Kills the process group, since npm may have started other processes.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    };
    if (signal.aborted) kill();
    signal.addEventListener('abort', kill, { once: true });
    const finish = (): void => {
      signal.removeEventListener('abort', kill);
      if (uid !== undefined) killOrphanedProcesses(uid);
    };
    child.on('error', (error) => (finish(), reject(error)));
    child.on('close', (code) => (finish(), resolve({ code, ...output })));
  });
}

/** Runs npm until it ends, confined as far as the host allows. Aborting kills it and everything it started. */
export async function runNpm(run: NpmRun, confinement: Confinement, signal: AbortSignal): Promise<NpmResult> {
  if (!existsSync(join(BOOT_FOLDER, PRELOADED_FILE)))
    throw new ImageError('provider_error', 'Heddle was not built: dist/native-boot does not exist.');
  return confinement.level === 'strict'
    ? runJailed(run, confinement, signal)
    : runAsHostProcess(run, confinement, signal);
}
