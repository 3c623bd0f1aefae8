import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  bareRoot,
  BOOT_FILES,
  type Confinement,
  dropArguments,
  endLeftovers,
  INSIDE,
  limitArguments,
  runTree,
} from '@heddle/sandbox/build';
import { ImageError } from '../error.ts';

/** Of what npm may print, how much is kept, in characters. */
const OUTPUT_CHARS = 1_000_000;
const OUTPUT_BYTES = 64 * 2 ** 20;
const CPU_SECONDS = 1_800;
const MEMORY_MIB = 2_048;
const DATA_MIB = 8_192;
const OPEN_FILES = 4_096;
const THREADS = 64;

/** Where npm and its folders stand in its sandbox. */
const NPM = '/run/heddle/npm';
const PLACES = { project: `${INSIDE.work}/project`, home: `${INSIDE.work}/home` };

/** What leads requests of Node.js to the gate, loaded before npm. */
const HOOK = 'registry.cjs';

/** One run of npm. */
interface NpmRun {
  /** The file npm-cli.js. */
  readonly program: string;
  readonly args: readonly string[];
  /** Folders that it may write to: the project that it works in, and its home. */
  readonly project: string;
  readonly home: string;
  /** The socket of the gate to the registries. */
  readonly gate: string;
  /** Size of a file that it may write, in MiB. */
  readonly fileMiB: number;
  /** The user that it becomes; null: the host's. */
  readonly uid: number | null;
}

/** How npm ended. */
interface NpmEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Paths {
  readonly home: string;
  readonly gate: string;
  readonly hook: string;
}

/** The whole environment of npm: a home of its own and the way to the gate. */
function environmentOf({ home, gate, hook }: Paths): Record<string, string> {
  return {
    HOME: home,
    PATH: '/usr/bin:/bin',
    NODE_OPTIONS: `--require ${JSON.stringify(hook)}`,
    HEDDLE_REGISTRY: gate,
    npm_config_cache: join(home, 'cache'),
    npm_config_userconfig: join(home, '.npmrc'),
    npm_config_globalconfig: join(home, 'global-npmrc'),
  };
}

/** Adds up what a process prints, up to a limit. */
function listener() {
  const output = { stdout: '', stderr: '' };
  return {
    output,
    hear: (data: Buffer, stream: 'stdout' | 'stderr'): void => {
      if (stream === 'stdout' && output.stdout.length < OUTPUT_CHARS) output.stdout += data.toString();
      if (stream === 'stderr') output.stderr = (output.stderr + data.toString()).slice(-OUTPUT_CHARS);
    },
  };
}

/** In a sandbox of its own: nothing of the host but Node.js and npm, no network, no further process. */
async function runJailed(run: NpmRun, confinement: Confinement, signal: AbortSignal): Promise<NpmEnd> {
  const { execPath, readable, environment } = bareRoot();
  const paths = { home: PLACES.home, gate: INSIDE.proxy, hook: `${INSIDE.boot}/${HOOK}` };
  const { output, hear } = listener();
  const end = await runTree(confinement, {
    jail: {
      rootfs: null,
      execPath,
      readable,
      mounts: [
        ...['--ro-bind', dirname(dirname(run.program)), NPM],
        ...['--bind', run.project, PLACES.project, '--bind', run.home, PLACES.home],
      ],
      folder: PLACES.project,
      command: [INSIDE.node, `${NPM}/bin/npm-cli.js`, ...run.args],
      environment: { ...environmentOf(paths), ...environment },
      limits: { memoryMiB: MEMORY_MIB, diskMiB: 64, processes: THREADS },
      fileMiB: run.fileMiB,
      processes: false,
      cpuSeconds: CPU_SECONDS,
      proxy: run.gate,
    },
    job: '',
    limits: {
      cpuMs: CPU_SECONDS * 1_000,
      wallMs: CPU_SECONDS * 1_000,
      resultBytes: 0,
      outputBytes: OUTPUT_BYTES,
    },
    ...(run.uid !== null && { uid: run.uid }),
    signal,
    output: hear,
  });
  if (end.stopped === 'memory')
    throw new ImageError(
      'install_failed',
      `npm needs more than ${MEMORY_MIB} MiB of memory for the packages.`,
    );
  if (end.exitCode === null && end.stopped === null)
    throw new ImageError(
      'provider_error',
      `npm could not be started in its sandbox: ${end.stderr.slice(-500) || 'it ended at once'}.`,
    );
  return { code: end.exitCode, ...output };
}

/** As a process of the host, within limits where it has some, and as another user where it can have one. */
function runPlain(run: NpmRun, { level, tools }: Confinement, signal: AbortSignal): Promise<NpmEnd> {
  const { uid, home, gate, fileMiB } = run;
  const taken = { dataMiB: DATA_MIB, cpuSeconds: CPU_SECONDS, files: OPEN_FILES, fileMiB };
  const { setpriv, prlimit } = tools;
  const threads = uid === null ? null : THREADS;
  const line = [
    ...(setpriv === null || level === 'basic'
      ? []
      : [setpriv, ...dropArguments(uid, process.geteuid?.() === 0)]),
    ...(prlimit === null ? [] : [prlimit, ...limitArguments({ ...taken, threads })]),
    ...[process.execPath, run.program, ...run.args],
  ];
  const [file = '', ...args] = line;
  const env = environmentOf({ home, gate, hook: join(realpathSync(BOOT_FILES), HOOK) });
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      ...{ env, cwd: run.project, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const { output, hear } = listener();
    child.stdout.on('data', (data: Buffer) => hear(data, 'stdout'));
    child.stderr.on('data', (data: Buffer) => hear(data, 'stderr'));
    const kill = (): void => {
      // The group, for what else it may have started.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    };
    if (signal.aborted) kill();
    signal.addEventListener('abort', kill, { once: true });
    const finish = (): void => {
      signal.removeEventListener('abort', kill);
      if (uid !== null) endLeftovers(uid);
    };
    child.on('error', (error) => (finish(), reject(error)));
    child.on('close', (code) => (finish(), resolve({ code, ...output })));
  });
}

/** Runs npm to its end, confined as far as the host can. Killed with all that it started when the signal aborts. */
export async function runNpm(run: NpmRun, confinement: Confinement, signal: AbortSignal): Promise<NpmEnd> {
  if (!existsSync(join(BOOT_FILES, HOOK)))
    throw new ImageError('provider_error', 'Heddle was not built: there is no dist/native-boot.');
  return confinement.level === 'strict'
    ? runJailed(run, confinement, signal)
    : runPlain(run, confinement, signal);
}
