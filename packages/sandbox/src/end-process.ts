import type { ChildProcess } from 'node:child_process';

/**
 * Kills a process that was started. One that could not be started has no id: until its `error` event, `kill` of Node.js sends the
 * signal to a process id that is read from uninitialised memory, which may be 0, the process group of the host.
 */
export function endProcess(child: ChildProcess): void {
  if (child.pid !== undefined) child.kill('SIGKILL');
}
