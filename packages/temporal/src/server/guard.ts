import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Env } from './command.ts';

/** A server process that ends with this one, however this one ends. */
export interface Guarded {
  /** Process id of the server, and of its process group. */
  readonly pid: number;
  /** How the server ended, once it has: `exit code 1`, `SIGKILL`. */
  readonly exited: Promise<string>;
  /** Asks it to end, kills it when it has not after the grace, and returns when it is gone. */
  stop(): Promise<void>;
}

export interface GuardOptions {
  readonly command: readonly [file: string, ...args: string[]];
  /** An open file that takes what it prints. */
  readonly log: number;
  /** Default: the environment of this process. */
  readonly env?: Env;
  /** How long it may take to end in order; default 5 s. */
  readonly graceMs?: number;
}

const GRACE_MS = 5000;
/** Beyond the grace: for the watcher to see that its time is up. */
const SLACK_MS = 2000;

/**
 * A shell that turns into the server, and leaves a watcher beside it: it reads from a pipe whose other end only
 * the starting process holds. When that end closes, be it by `stop` or by a `kill -9` of the starter, the server is
 * asked to end, and killed with its whole process group after $1 tenths of a second. The id $$ cannot be
 * another process's meanwhile: it is that of the group in which the watcher lives.
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
 * The process of a server, started in a group of its own, so that Ctrl-C in a terminal reaches only its starter.
 *
 * @throws when the shell can't be started.
 */
export async function startGuarded(options: GuardOptions): Promise<Guarded> {
  const { command, log, env, graceMs = GRACE_MS } = options;
  const tenths = String(Math.ceil(graceMs / 100));
  const child = spawn('/bin/sh', ['-c', SCRIPT, 'heddle', tenths, ...command], {
    detached: true,
    stdio: ['pipe', log, log],
    ...(env && { env }),
  });
  await once(child, 'spawn');
  const { pid, stdin } = child;
  if (pid === undefined || !stdin) throw new Error(`${command[0]} was started without an id or a pipe`);
  // The watcher may be gone before the pipe is closed.
  stdin.on('error', () => undefined);
  const exited = ended(child);
  return {
    pid,
    exited,
    async stop() {
      stdin.end();
      const overdue = setTimeout(() => killGroup(pid), graceMs + SLACK_MS);
      await exited;
      clearTimeout(overdue);
    },
  };
}

async function ended(child: ChildProcess): Promise<string> {
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
