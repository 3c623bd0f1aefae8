import { spawn, type ChildProcess } from 'node:child_process';
import type { Writable } from 'node:stream';
import type { Invocation } from './confine.ts';
import { endLeftovers, freeSlotUid } from './slot-uid.ts';

/** The started process: nothing inherited but its channel and a pipe for its errors. */
export function spawnConfined({ command, args, filter, uid, leavesOthers, waits }: Invocation): ChildProcess {
  const child = spawn(command, args, {
    env: {},
    cwd: '/',
    serialization: 'advanced',
    stdio: [
      'ignore',
      'ignore',
      'pipe',
      'ipc',
      filter === null ? 'ignore' : 'pipe',
      waits ? 'pipe' : 'ignore',
    ],
  });
  if (uid !== null) {
    // Whichever comes: a command that cannot be started has no exit.
    const free = (): void => {
      if (leavesOthers) endLeftovers(uid);
      freeSlotUid(uid);
    };
    child.once('exit', free).once('error', free);
  }
  if (filter !== null) {
    const pipe = child.stdio[4] as Writable;
    // A process that ends before it has read its filter tells so by its exit.
    pipe.on('error', () => undefined);
    pipe.end(filter);
  }
  return child;
}
