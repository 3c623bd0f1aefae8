import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import type { Invocation } from './confine.ts';
import { endLeftovers, freeSlotUid } from './slot-uid.ts';

const CLOSE_ON_EXEC = 0o2000000;

/** Whether a descriptor of this process goes on to the programs that it starts. */
function isInherited(descriptor: string): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // It was the one by which the folder was read.
    return false;
  }
}

let leaks: readonly number[] | undefined;

/**
 * The descriptors above those of Node.js' own that every child of this process would get: Node.js keeps only the first
 * ones that it was itself started with from them. Found out once.
 */
function leakingDescriptors(): readonly number[] {
  if (leaks !== undefined) return leaks;
  const all = process.platform === 'linux' ? readdirSync('/proc/self/fdinfo') : [];
  leaks = all.filter(isInherited).map(Number);
  return leaks;
}

let nothing: number | undefined;

/** `stdio` of a child with /dev/null in place of each descriptor that would leak into it. */
function withoutLeaks<T>(stdio: readonly T[]): (T | number | 'ignore')[] {
  const leaking = leakingDescriptors().filter((descriptor) => descriptor >= stdio.length);
  if (leaking.length === 0) return [...stdio];
  nothing ??= openSync('/dev/null', 'r');
  // `ignore` leaves a descriptor as it is.
  const filled: (T | number | 'ignore')[] = [...stdio];
  while (filled.length <= Math.max(...leaking)) filled.push('ignore');
  for (const descriptor of leaking) filled[descriptor] = nothing;
  return filled;
}

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
