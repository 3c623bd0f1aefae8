import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bubblewrapArguments, setprivArguments, prlimitArguments } from '../isolation/host-tools.ts';
import type { Confinement } from '../isolation/confine.ts';
import { librariesOf } from '../isolation/libraries.ts';
import { createSeccompFilter } from '../isolation/seccomp.ts';
import type { Architecture } from '../isolation/syscalls.ts';
import { JAIL_PATHS } from './layout.ts';
import { RESERVED_DATA_MIB, OPEN_FILES, type NativeLimits } from './limits.ts';

/**
 * The programs that start code in a root file system. `src` and `dist` are siblings, so the path is valid from both.
 */
export const BOOT_FOLDER = fileURLToPath(new URL('../../dist/native-boot', import.meta.url));

/** A process tree in a root file system. */
export interface NativeJail {
  /** The root folder, mounted read-only; default: a root with only the files listed here. */
  readonly rootfs?: string | undefined;
  /** Files that are mounted at their own paths; only without `rootfs`. */
  readonly readablePaths?: readonly string[];
  /** Further arguments of bubblewrap for mounts, after all other mounts. */
  readonly mounts?: readonly string[];
  /** Working directory; default `/work`. */
  readonly folder?: string;
  /** Maximum size of a written file in MiB; default: `limits.diskMiB`. */
  readonly fileMiB?: number;
  /** True if the command may start other processes; default true. */
  readonly mayStartProcesses?: boolean;
  /** The Node.js that is mounted into it. */
  readonly execPath: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: NativeLimits;
  /** CPU time of each process, in seconds. */
  readonly cpuSeconds: number;
  /** Socket of the proxy; default: no requests are allowed. */
  readonly proxy?: string | undefined;
}

/** Descriptors of bubblewrap: it reads the seccomp filter, its arguments and the job, and writes the exit status. */
export const JAIL_FDS = { filter: 4, arguments: 5, job: 6, status: 7 } as const;

/** Files in `/proc` that reveal or control the whole machine. */
const MASKED_FILES = [
  'cmdline',
  'kallsyms',
  'config.gz',
  'keys',
  'kcore',
  'timer_list',
  'sysrq-trigger',
  'kmsg',
  'key-users',
];
const MASKED_FOLDERS = ['sys', 'fs', 'bus', 'irq', 'acpi', 'scsi', 'driver', 'tty'];

function procMountArguments(): string[] {
  const files = MASKED_FILES.filter((name) => existsSync(`/proc/${name}`));
  const folders = MASKED_FOLDERS.filter((name) => existsSync(`/proc/${name}`));
  return [
    ...['--proc', '/proc'],
    ...files.flatMap((name) => ['--ro-bind', '/dev/null', `/proc/${name}`]),
    ...folders.flatMap((name) => [
      '--size',
      '4096',
      '--tmpfs',
      `/proc/${name}`,
      '--remount-ro',
      `/proc/${name}`,
    ]),
  ];
}

const tmpfsArguments = (mib: number, path: string): string[] => [
  '--size',
  String(mib * 2 ** 20),
  '--tmpfs',
  path,
];

function mountArguments({ rootfs, execPath, limits, proxy, mounts: extraMounts = [] }: NativeJail): string[] {
  return [
    ...(rootfs === undefined ? [] : ['--ro-bind', rootfs, '/']),
    ...[
      '--ro-bind',
      realpathSync(execPath),
      JAIL_PATHS.node,
      '--ro-bind',
      realpathSync(BOOT_FOLDER),
      JAIL_PATHS.boot,
    ],
    ...procMountArguments(),
    ...['--dev', '/dev', ...tmpfsArguments(16, '/dev/shm'), '--remount-ro', '/dev'],
    ...tmpfsArguments(limits.diskMiB, '/tmp'),
    ...tmpfsArguments(limits.diskMiB, JAIL_PATHS.work),
    ...tmpfsArguments(8, '/run'),
    ...['--ro-bind-data', String(JAIL_FDS.job), JAIL_PATHS.job],
    ...(proxy === undefined ? [] : ['--ro-bind', proxy, JAIL_PATHS.proxy]),
    ...extraMounts,
    ...['--json-status-fd', String(JAIL_FDS.status)],
  ];
}

/** The command line, and the data to write to JAIL_FDS. */
export interface NativeInvocation {
  readonly command: string;
  readonly args: readonly string[];
  readonly filter: Buffer;
  readonly jailArguments: Buffer;
}

/** A command that limits the number of processes from inside the jail, and the files that it needs. */
interface ProcessLimit {
  readonly command: readonly string[];
  readonly readablePaths: readonly string[];
}

const NO_PROCESS_LIMIT: ProcessLimit = { command: [], readablePaths: [] };

/**
 * Returns the command that sets RLIMIT_NPROC inside the user namespace, where only the processes of the tree count.
 * Outside, without a separate user id, the other processes of the host's user would count too.
 */
function processLimitOf({ rootfs, limits }: NativeJail, prlimit: string): ProcessLimit {
  if (rootfs !== undefined)
    return {
      command: ['/bin/bash', '-c', `ulimit -u ${limits.processes}; exec "$@"`, 'sh'],
      readablePaths: [],
    };
  return {
    command: [prlimit, `--nproc=${limits.processes}`, '--'],
    readablePaths: [prlimit, ...librariesOf(prlimit, [])],
  };
}

/**
 * Returns the command line of a jail. It contains no environment values, because everyone on the host can read command
 * lines.
 */
export function nativeInvocation(
  { tools, uids }: Confinement,
  uid: number | undefined,
  jail: NativeJail,
): NativeInvocation {
  const { limits, readablePaths = [], folder = JAIL_PATHS.work, fileMiB = limits.diskMiB } = jail;
  const mayStartProcesses = jail.mayStartProcesses ?? true;
  const prlimit = tools.prlimit as string;
  const processLimit =
    uids === undefined && mayStartProcesses ? processLimitOf(jail, prlimit) : NO_PROCESS_LIMIT;
  const jailArguments = bubblewrapArguments({
    readablePaths: [...new Set([...readablePaths, ...processLimit.readablePaths])],
    mounts: mountArguments(jail),
    environment: jail.environment,
    folder,
    filterFd: JAIL_FDS.filter,
    command: [],
  });
  const commandLine = [
    ...(tools.setpriv === undefined
      ? []
      : [tools.setpriv, ...setprivArguments(uid, process.geteuid?.() === 0)]),
    prlimit,
    ...prlimitArguments({
      dataMiB: RESERVED_DATA_MIB + limits.memoryMiB,
      cpuSeconds: jail.cpuSeconds,
      files: OPEN_FILES,
      threads: uids === undefined ? undefined : limits.processes,
      fileMiB,
    }),
    ...[tools.bubblewrap as string, '--args', String(JAIL_FDS.arguments), '--'],
    ...processLimit.command,
    ...jail.command,
  ];
  const [command = '', ...args] = commandLine;
  return {
    command,
    args,
    filter: createSeccompFilter({
      architecture: process.arch as Architecture,
      mayStartProcesses,
      mayOpenSockets: true,
    }),
    // Without the final `--`, which is on the command line, before the command.
    jailArguments: Buffer.from(
      jailArguments
        .slice(0, jailArguments.lastIndexOf('--'))
        .map((text) => `${text}\0`)
        .join(''),
    ),
  };
}
