import { fork, type ChildProcess } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { SandboxError } from '../error.ts';

/** How processes are started. */
export interface LaunchOptions {
  /** The Node.js to run, 24 or newer. */
  readonly execPath: string;
}

/** What runs in a child process, and what that program needs of it. */
export interface Program {
  /** The built child program. */
  readonly file: string;
  readonly args: readonly string[];
  /** Files and folders that it may read besides its own. */
  readonly readable: readonly string[];
  /** Flags of Node.js and V8. */
  readonly flags: readonly string[];
  /** Memory that the process may write to, in MiB, where the operating system can limit it. */
  readonly dataMiB: number;
  /** Processor time of the whole process, in seconds; none by default. */
  readonly maxCpuSeconds?: number;
}

/**
 * Starts a child process that can read its own files and nothing else, with an empty environment and no way out but its channel.
 * @throws SandboxError NOT_BUILT when the package was not built.
 */
export function launch(options: LaunchOptions, program: Program): ChildProcess {
  if (!existsSync(program.file)) {
    throw new SandboxError(
      'NOT_BUILT',
      'The program of the sandbox processes is missing; run `npm run build` in @heddle/sandbox.',
    );
  }
  const file = realpathSync(program.file);
  const readable = [file, ...program.readable].map((path) => `--allow-fs-read=${path}`);
  const child = fork(file, [...program.args], {
    execPath: options.execPath,
    execArgv: [...program.flags, '--permission', '--allow-addons', ...readable, '--no-warnings'],
    env: {},
    cwd: '/',
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  // An idle pool does not keep its host alive; jobs hold the channel.
  child.unref();
  child.channel?.unref();
  (child.stderr as { unref?: () => void } | null)?.unref?.();
  return child;
}
