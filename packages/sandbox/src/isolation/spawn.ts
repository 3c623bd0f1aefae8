import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import type { Writable } from 'node:stream';
import type { Invocation } from './confine.ts';
import { withoutLeaks } from './inherited.ts';
import { endLeftovers, freeSlotUid } from './slot-uid.ts';

/** The started process: nothing inherited but its channel, a pipe for its errors, and files of its program. */
export function spawnConfined({
  command,
  args,
  filter,
  uid,
  leavesOthers,
  waits,
  files = [],
}: Invocation): ChildProcess {
  const open: number[] = [];
  try {
    for (const file of files) open.push(openSync(file, 'r'));
  } catch (error) {
    for (const descriptor of open) closeSync(descriptor);
    if (uid !== null) freeSlotUid(uid);
    throw error;
  }
  const child = spawn(command, args, {
    env: {},
    cwd: '/',
    serialization: 'advanced',
    stdio: withoutLeaks<'ignore' | 'pipe' | 'ipc' | number>([
      'ignore',
      'ignore',
      'pipe',
      'ipc',
      filter === null ? 'ignore' : 'pipe',
      waits ? 'pipe' : 'ignore',
      ...open,
    ]),
  });
  for (const descriptor of open) closeSync(descriptor);
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
