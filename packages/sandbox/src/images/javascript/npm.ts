import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildContext } from '../builder.ts';
import { findHostTools } from '../../isolation/host-tools.ts';
import { limitArguments } from '../../isolation/rlimits.ts';
import { ImageError } from '../error.ts';
import { npmFailure } from './npm-failure.ts';
import { watchSize, type Size } from './size.ts';

/** Of what npm may print, how much is kept, in characters. */
const OUTPUT_CHARS = 1_000_000;

/** Scripts never run, nothing comes from elsewhere than a registry, and nobody is told about it. */
const SWITCHES = [
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--json',
  '--no-progress',
  '--no-update-notifier',
  '--no-workspaces',
  '--omit=dev',
  '--allow-git=none',
  '--allow-remote=none',
  '--allow-file=none',
  '--allow-directory=none',
  '--loglevel=http',
  '--logs-max=0',
];

function settingsText(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .filter(([key]) => key !== 'node-extra-ca-certs')
    .map(([key, value]) => `${key}=${value.replace(/[\r\n]+/g, ' ')}\n`)
    .join('');
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end in an environment of nothing but `env`. Killed with all its children when the signal aborts. */
function run(
  command: readonly string[],
  options: { cwd: string; env: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const [file, ...args] = command as [string, ...string[]];
    const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (data: Buffer) => {
      if (stdout.length < OUTPUT_CHARS) stdout += data.toString();
    });
    child.stderr.on('data', (data: Buffer) => (stderr = (stderr + data.toString()).slice(-OUTPUT_CHARS)));
    const kill = (): void => {
      // The group: npm has children of its own.
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    };
    if (signal.aborted) kill();
    signal.addEventListener('abort', kill, { once: true });
    child.on('error', (error) => {
      signal.removeEventListener('abort', kill);
      reject(error);
    });
    child.on('close', (code) => {
      signal.removeEventListener('abort', kill);
      resolve({ code, stdout, stderr });
    });
  });
}

export interface Npm {
  /** The file npm-cli.js. */
  readonly program: string | null;
  /** What it may unpack. */
  readonly most: Readonly<Size>;
}

/** What npm may take of the machine, where the host can limit it: no file larger than all that it may unpack, no core dumps. */
function limits(most: Readonly<Size>): string[] {
  const { prlimit, setpriv } = findHostTools(undefined);
  const fileMiB = Math.ceil(most.bytes / 2 ** 20) + 64;
  const taken = { dataMiB: 8_192, cpuSeconds: 1_800, files: 4_096, threads: null, fileMiB };
  return [
    ...(prlimit === null ? [] : [prlimit, ...limitArguments(taken)]),
    ...(setpriv === null ? [] : [setpriv, '--no-new-privs', '--']),
  ];
}

/** Runs npm in a folder, with home, cache and settings inside the work folder. Throws ImageError. */
export async function npm(
  { program, most }: Npm,
  args: readonly string[],
  folder: string,
  context: BuildContext,
): Promise<void> {
  if (program === null)
    throw new ImageError(
      'provider_error',
      'npm was not found on this host; install Node.js with npm 11 or newer.',
    );
  const home = join(context.workFolder, 'home');
  const settings = context.registries.npm ?? {};
  await mkdir(home, { recursive: true });
  const userconfig = join(home, '.npmrc');
  const globalconfig = join(home, 'global-npmrc');
  await writeFile(userconfig, settingsText(settings), { mode: 0o600 });
  await writeFile(globalconfig, '');
  const certificates = settings['node-extra-ca-certs'];
  const env = {
    HOME: home,
    PATH: '/usr/bin:/bin',
    npm_config_cache: join(home, 'cache'),
    npm_config_userconfig: userconfig,
    npm_config_globalconfig: globalconfig,
    ...(certificates === undefined ? {} : { NODE_EXTRA_CA_CERTS: certificates }),
  };
  const size = watchSize(context.workFolder, most, context.signal);
  try {
    const command = [...limits(most), process.execPath, program, ...args, ...SWITCHES];
    const { code, stdout, stderr } = await run(command, { cwd: folder, env }, size.signal);
    context.log(stderr);
    size.signal.throwIfAborted();
    if (code === 0) return;
    context.log(stdout);
    throw npmFailure(stdout, stderr);
  } finally {
    size.stop();
  }
}
