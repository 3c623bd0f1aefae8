import type { ChildProcess } from 'node:child_process';

/**
 * Kills a process, unless it could not be started. Such a process has no id, and until its `error` event Node.js's
 * `kill` sends the signal to an id read from uninitialised memory, which may be 0: the process group of the host.
 */
export function killProcess(child: ChildProcess): void {
  if (child.pid !== undefined) child.kill('SIGKILL');
}
