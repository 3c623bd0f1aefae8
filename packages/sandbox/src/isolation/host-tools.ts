import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** The programs of the host that confine processes, by absolute path; null where there is none. */
export interface HostTools {
  readonly bubblewrap: string | null;
  /** Becomes another user; needed where the host is root. */
  readonly setpriv: string | null;
  /** Sets limits on resources. */
  readonly prlimit: string | null;
}

/** Where a system keeps its programs. Not PATH: a program found through a folder of somebody else's would run as root. */
export const TOOL_FOLDERS = [
  '/usr/bin',
  '/bin',
  '/usr/sbin',
  '/sbin',
  '/usr/local/bin',
  '/run/current-system/sw/bin',
];

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The absolute path of a program of the system; null where there is none. */
export function findTool(name: string): string | null {
  return TOOL_FOLDERS.map((folder) => join(folder, name)).find(isExecutable) ?? null;
}

/** The tools of this host; `bubblewrap` is the path of one that stands elsewhere. */
export function findHostTools(bubblewrap: string | undefined): HostTools {
  const given = bubblewrap === undefined ? findTool('bwrap') : isExecutable(bubblewrap) ? bubblewrap : null;
  return { bubblewrap: given, setpriv: findTool('setpriv'), prlimit: findTool('prlimit') };
}

/** What one process may take of the machine. */
interface ResourceLimits {
  /** Memory that it may write to, in MiB. */
  readonly dataMiB: number;
  /** Processor time, in seconds. */
  readonly cpuSeconds: number;
  /** Open files. */
  readonly files: number;
  /** Threads, and other processes of its user; only where the user is its own. */
  readonly threads: number | null;
  /** Size of a file that it may write, in MiB. */
  readonly fileMiB: number;
}

const MIB = 2 ** 20;

/** Of a process that says no more: two hours of processor time, 256 files, 64 threads, and nothing written. */
export const DEFAULT_RLIMITS = { cpuSeconds: 7_200, files: 256, threads: 64, fileMiB: 0 };

/** Arguments of prlimit that limit the command that follows. Neither core dumps, locked memory nor message queues are left. */
export function limitArguments(limits: ResourceLimits): string[] {
  return [
    `--data=${limits.dataMiB * MIB}`,
    `--cpu=${limits.cpuSeconds}`,
    `--nofile=${limits.files}`,
    `--fsize=${limits.fileMiB * MIB}`,
    '--core=0',
    '--memlock=0',
    '--msgqueue=0',
    ...(limits.threads === null ? [] : [`--nproc=${limits.threads}`]),
    '--',
  ];
}

/**
 * Arguments of setpriv that take every privilege for good, and end the process with the host; the command follows.
 * `uid`: the user to become, or null; `isRoot`: whether the host is root, whose capabilities are to go.
 */
export function dropArguments(uid: number | null, isRoot: boolean): string[] {
  return [
    ...(uid === null ? [] : [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']),
    ...(isRoot ? ['--bounding-set=-all', '--inh-caps=-all'] : []),
    '--no-new-privs',
    '--pdeathsig=KILL',
    '--',
  ];
}

/** A process in namespaces of its own, over a root that holds nothing but what is named. */
export interface Jail {
  /** Files and folders that appear at their own paths, read-only. */
  readonly readable: readonly string[];
  /** Further arguments of bubblewrap that fill the root, in order: `--ro-bind`, `--tmpfs`, `--dir` … */
  readonly mounts?: readonly string[];
  /** The whole environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** The working directory; default `/`. */
  readonly folder?: string;
  /** The descriptor on which bubblewrap reads the filter of system calls. */
  readonly filterFd: number;
  readonly command: readonly string[];
}

/** The user and group inside: nobody. */
const NOBODY = '65534';

/**
 * The arguments of bubblewrap for a process with namespaces of every kind, no capability, no network, no `/proc`, no `/dev`
 * and no terminal, which dies with its parent. Bubblewrap itself must not run as root: as user 0 its guests could write
 * where only the host's root may.
 */
export function bubblewrapArguments(jail: Jail): string[] {
  return [
    '--unshare-all',
    // With --unshare-all alone it goes on where there is no user namespace.
    '--unshare-user',
    '--die-with-parent',
    '--new-session',
    ...['--cap-drop', 'ALL', '--uid', NOBODY, '--gid', NOBODY, '--hostname', 'sandbox'],
    '--clearenv',
    ...Object.entries(jail.environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...jail.readable.flatMap((path) => ['--ro-bind', path, path]),
    ...(jail.mounts ?? []),
    ...['--remount-ro', '/', '--chdir', jail.folder ?? '/', '--seccomp', String(jail.filterFd)],
    '--',
    ...jail.command,
  ];
}
