import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Env } from './command.ts';

/** A server process that ends with this process, even if this process is killed. */
export interface SupervisedProcess {
  /** Id of the process and of its process group. */
  readonly pid: number;
  /** Resolves with the server's exit code or signal, as text: `exit code 1`, `SIGKILL`. */
  readonly exited: Promise<string>;
  /** Sends SIGTERM, kills the server after the grace period, and resolves when it has ended. */
  stop(): Promise<void>;
}

export interface SupervisorOptions {
  readonly command: readonly [file: string, ...args: string[]];
  /** File descriptor for its output. */
  readonly logFd: number;
  /** Default: the environment of this process. */
  readonly env?: Env;
  /** Grace period between SIGTERM and SIGKILL; default 5 s. */
  readonly graceMs?: number;
}

const GRACE_MS = 5000;
/** Time beyond the grace period for the watcher to kill the group. */
const SLACK_MS = 2000;

/**
 * A shell that starts a watcher and then becomes the server. The watcher reads from a pipe of the starting process.
 * When the pipe closes, by `stop` or because the starting process died, the watcher sends SIGTERM to the server, and
 * SIGKILL to its process group after $1 tenths of a second. Until then the system cannot reuse the id $$, because the
 * watcher belongs to the group with that id.
 */
const SCRIPT = `
exec 3<&0
(
  trap '' HUP INT TERM
  exec >/dev/null 2>&1
  while read -r _ <&3; do :; done
  kill -s TERM $$
  left=$1
  while [ "$left" -gt 0 ]; do
    kill -0 $$ || exit 0
    sleep 0.1
    left=$((left - 1))
  done
  kill -s KILL -- -$$
) &
shift
exec "$@" 3<&- </dev/null
`;

/**
 * Starts a server in its own process group, so that Ctrl-C in a terminal reaches only this process.
 *
 * Throws if the shell cannot be started.
 */
export async function startSupervisedProcess(options: SupervisorOptions): Promise<SupervisedProcess> {
  const { command, logFd, env, graceMs = GRACE_MS } = options;
  const graceTenths = String(Math.ceil(graceMs / 100));
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'heddle', graceTenths, ...command], {
    detached: true,
    stdio: ['pipe', logFd, logFd],
    ...(env && { env }),
  });
  await once(child, 'spawn');
  const { pid, stdin } = child;
  if (pid === undefined || !stdin) throw new Error(`${command[0]} has no process id or no pipe`);
  // The watcher may end before the pipe is closed.
  stdin.on('error', () => undefined);
  const exited = waitForExit(child);
  return {
    pid,
    exited,
    async stop() {
      stdin.end();
      const killTimer = setTimeout(() => killGroup(pid), graceMs + SLACK_MS);
      await exited;
      clearTimeout(killTimer);
    },
  };
}

async function waitForExit(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => {
      child.stdin?.destroy();
      resolve(signal ?? `exit code ${code}`);
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
