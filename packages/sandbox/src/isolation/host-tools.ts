import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';

/** Paths of the host's programs that confine processes; undefined for a missing program. */
export interface HostTools {
  readonly bubblewrap: string | undefined;
  /** Changes the user id; needed if the host is root. */
  readonly setpriv: string | undefined;
  /** Sets resource limits. */
  readonly prlimit: string | undefined;
}

/**
 * System folders for programs. PATH is not used: if it contained a folder to which others can write, the host could run
 * their program as root.
 */
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

/** Returns the path of a system program, or undefined if it is missing. */
export function findTool(name: string): string | undefined {
  return TOOL_FOLDERS.map((folder) => join(folder, name)).find(isExecutable);
}

/** Returns the tools of this host. `bubblewrap` is the configured path; undefined to search the system folders. */
export function findHostTools(bubblewrap: string | undefined): HostTools {
  const bubblewrapPath =
    bubblewrap === undefined ? findTool('bwrap') : isExecutable(bubblewrap) ? bubblewrap : undefined;
  return { bubblewrap: bubblewrapPath, setpriv: findTool('setpriv'), prlimit: findTool('prlimit') };
}

/** Resource limits of one process. */
interface ResourceLimits {
  /** Data memory (RLIMIT_DATA), in MiB. */
  readonly dataMiB: number;
  /** CPU time, in seconds. */
  readonly cpuSeconds: number;
  /** Open files. */
  readonly files: number;
  /** Threads and processes of its user id; undefined if it shares the id with others. */
  readonly threads: number | undefined;
  /** Maximum size of a written file, in MiB. */
  readonly fileMiB: number;
}

const MIB = 2 ** 20;

/** Defaults: two hours of CPU time, 256 open files, 64 threads, no file writes. */
export const DEFAULT_RLIMITS = { cpuSeconds: 7_200, files: 256, threads: 64, fileMiB: 0 };

/**
 * Returns the arguments of prlimit before the command. They also disable core dumps, locked memory and message queues.
 */
export function prlimitArguments(limits: ResourceLimits): string[] {
  return [
    `--data=${limits.dataMiB * MIB}`,
    `--cpu=${limits.cpuSeconds}`,
    `--nofile=${limits.files}`,
    `--fsize=${limits.fileMiB * MIB}`,
    '--core=0',
    '--memlock=0',
    '--msgqueue=0',
    ...(limits.threads === undefined ? [] : [`--nproc=${limits.threads}`]),
    '--',
  ];
}

/**
 * Returns the arguments of setpriv before the command. They drop all privileges permanently, and end the process with
 * its host. `uid` is the new user id or undefined; `isRoot` tells whether the host is root, whose capabilities have to
 * be dropped.
 */
export function setprivArguments(uid: number | undefined, isRoot: boolean): string[] {
  return [
    ...(uid === undefined ? [] : [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']),
    ...(isRoot ? ['--bounding-set=-all', '--inh-caps=-all'] : []),
    '--no-new-privs',
    '--pdeathsig=KILL',
    '--',
  ];
}

/** A process in separate namespaces, whose root contains only the files and folders listed here. */
export interface Jail {
  /** Files and folders that are mounted read-only at their own paths. */
  readonly readablePaths: readonly string[];
  /** Further mount arguments of bubblewrap, in order: `--ro-bind`, `--tmpfs`, `--dir` … */
  readonly mounts?: readonly string[];
  /** The whole environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** Working directory; default `/`. */
  readonly folder?: string;
  /** Descriptor from which bubblewrap reads the seccomp filter. */
  readonly filterFd: number;
  readonly command: readonly string[];
}

/** User id and group id of processes in a jail: those of the user `nobody`. */
const NOBODY = '65534';

/**
 * Returns the arguments of bubblewrap for a process with new namespaces of every kind, no capabilities, no network, no
 * `/proc`, no `/dev` and no terminal. It ends with its parent. Bubblewrap must not run as root: its processes could
 * then write to files that only the host's root may write.
 */
export function bubblewrapArguments(jail: Jail): string[] {
  return [
    '--unshare-all',
    // --unshare-all alone continues without a user namespace if none can be created.
    '--unshare-user',
    '--die-with-parent',
    '--new-session',
    ...['--cap-drop', 'ALL', '--uid', NOBODY, '--gid', NOBODY, '--hostname', 'sandbox'],
    '--clearenv',
    ...Object.entries(jail.environment).flatMap(([name, value]) => ['--setenv', name, value]),
    ...jail.readablePaths.flatMap((path) => ['--ro-bind', path, path]),
    ...(jail.mounts ?? []),
    ...['--remount-ro', '/', '--chdir', jail.folder ?? '/', '--seccomp', String(jail.filterFd)],
    '--',
    ...jail.command,
  ];
}
