import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { Writable } from 'node:stream';
import type { Invocation } from './confine.ts';
import { killOrphanedProcesses, freeProcessUid } from './process-uid.ts';

const CLOSE_ON_EXEC = 0o2000000;

/** Returns whether a child process would inherit a descriptor of this process. */
function isInherited(descriptor: string): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1'))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // The descriptor with which the folder was listed is closed by now.
    return false;
  }
}

let cachedDescriptors: readonly number[] | undefined;

/**
 * Returns the descriptors of this process that every child would inherit. They already existed when Node.js started:
 * of the existing descriptors, it sets close-on-exec only for those with the lowest numbers. Computed once.
 */
function leakingDescriptors(): readonly number[] {
  if (cachedDescriptors !== undefined) return cachedDescriptors;
  const allDescriptors = process.platform === 'linux' ? readdirSync('/proc/self/fdinfo') : [];
  cachedDescriptors = allDescriptors.filter(isInherited).map(Number);
  return cachedDescriptors;
}

let nullDescriptor: number | undefined;

/** Returns `stdio` for a child with /dev/null in place of each descriptor that it would inherit. */
function replaceLeakingDescriptors<T>(stdio: readonly T[]): (T | number | 'ignore')[] {
  const descriptorsToReplace = leakingDescriptors().filter((descriptor) => descriptor >= stdio.length);
  if (descriptorsToReplace.length === 0) return [...stdio];
  nullDescriptor ??= openSync('/dev/null', 'r');
  // `ignore` leaves a descriptor unchanged.
  const stdioWithNull: (T | number | 'ignore')[] = [...stdio];
  while (stdioWithNull.length <= Math.max(...descriptorsToReplace)) stdioWithNull.push('ignore');
  for (const descriptor of descriptorsToReplace) stdioWithNull[descriptor] = nullDescriptor;
  return stdioWithNull;
}

/**
 * Starts a process. It inherits only its channel, its pipes (standard error, seccomp filter, synchronous calls) and the
 * files of its program.
 */
export function spawnConfined({
  command,
  args,
  filter,
  uid,
  mayLeaveProcesses,
  hasSyncPipe,
  files = [],
}: Invocation): ChildProcess {
  const descriptors: number[] = [];
  try {
    for (const file of files) descriptors.push(openSync(file, 'r'));
  } catch (error) {
    for (const descriptor of descriptors) closeSync(descriptor);
    if (uid !== undefined) freeProcessUid(uid);
    throw error;
  }
  const child = spawn(command, args, {
    env: {},
    cwd: '/',
    serialization: 'advanced',
    stdio: replaceLeakingDescriptors<'ignore' | 'pipe' | 'ipc' | number>([
      'ignore',
      'ignore',
      'pipe',
      'ipc',
      filter === undefined ? 'ignore' : 'pipe',
      hasSyncPipe ? 'pipe' : 'ignore',
      ...descriptors,
    ]),
  });
  for (const descriptor of descriptors) closeSync(descriptor);
  if (uid !== undefined) {
    // Both events: a command that cannot be started causes no `exit`.
    const freeUid = (): void => {
      if (mayLeaveProcesses) killOrphanedProcesses(uid);
      freeProcessUid(uid);
    };
    child.once('exit', freeUid).once('error', freeUid);
  }
  if (filter !== undefined) {
    const pipe = child.stdio[4] as Writable;
    // Ignored: if a process ends before it has read its filter, its exit is reported.
    pipe.on('error', () => undefined);
    pipe.end(filter);
  }
  return child;
}
