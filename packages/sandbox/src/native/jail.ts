import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { bubblewrapArguments, dropArguments, limitArguments } from '../isolation/host-tools.ts';
import type { Confinement } from '../isolation/confine.ts';
import { librariesOf } from '../isolation/libraries.ts';
import { seccompFilter } from '../isolation/seccomp.ts';
import type { Architecture } from '../isolation/syscalls.ts';
import { INSIDE } from './layout.ts';
import { DATA_ASIDE_MIB, OPEN_FILES, type NativeLimits } from './limits.ts';

/** The programs that start code in a root file system; `src` and `dist` are siblings, so the path holds from both. */
export const BOOT_FILES = fileURLToPath(new URL('../../dist/native-boot', import.meta.url));

/** One tree of processes over a root file system. */
export interface NativeJail {
  /** The folder that is the root, read-only; null: a root of nothing but what is named here. */
  readonly rootfs: string | null;
  /** Files that appear at their own paths, where there is no root folder. */
  readonly readable?: readonly string[];
  /** Further arguments of bubblewrap that fill the root, after all others. */
  readonly mounts?: readonly string[];
  /** The working directory; default `/work`. */
  readonly folder?: string;
  /** Size of a file that may be written, in MiB; default: that of its disk. */
  readonly fileMiB?: number;
  /** Whether it may start processes; default true. */
  readonly processes?: boolean;
  /** The Node.js that it has. */
  readonly execPath: string;
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: NativeLimits;
  /** Processor time of each process, in seconds. */
  readonly cpuSeconds: number;
  /** The socket of the proxy; null: no request goes out. */
  readonly proxy: string | null;
}

/** What bubblewrap reads from descriptors: the filter, its arguments, the job, and where it tells how the command ended. */
export const JAIL_FDS = { filter: 4, arguments: 5, job: 6, status: 7 } as const;

/** Files of `/proc` that tell of the whole machine, or reach it. */
const MASKED = [
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

function procMounts(): string[] {
  const files = MASKED.filter((name) => existsSync(`/proc/${name}`));
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

const sized = (mib: number, place: string): string[] => ['--size', String(mib * 2 ** 20), '--tmpfs', place];

function mounts({ rootfs, execPath, limits, proxy, mounts: more = [] }: NativeJail): string[] {
  return [
    ...(rootfs === null ? [] : ['--ro-bind', rootfs, '/']),
    ...['--ro-bind', realpathSync(execPath), INSIDE.node, '--ro-bind', realpathSync(BOOT_FILES), INSIDE.boot],
    ...procMounts(),
    ...['--dev', '/dev', ...sized(16, '/dev/shm'), '--remount-ro', '/dev'],
    ...sized(limits.diskMiB, '/tmp'),
    ...sized(limits.diskMiB, INSIDE.work),
    ...sized(8, '/run'),
    ...['--ro-bind-data', String(JAIL_FDS.job), INSIDE.job],
    ...(proxy === null ? [] : ['--ro-bind', proxy, INSIDE.proxy]),
    ...more,
    ...['--json-status-fd', String(JAIL_FDS.status)],
  ];
}

/** What to start, and what to write to JAIL_FDS. */
export interface NativeInvocation {
  readonly command: string;
  readonly args: readonly string[];
  readonly filter: Buffer;
  readonly arguments: Buffer;
}

/** What limits the number of processes from inside, and the files that it needs there. */
interface Counter {
  readonly command: readonly string[];
  readonly readable: readonly string[];
}

const NO_COUNTER: Counter = { command: [], readable: [] };

/** Without users of their own the kernel counts what else the host's user runs: there the namespace's count is limited. */
function counterOf({ rootfs, limits }: NativeJail, prlimit: string): Counter {
  if (rootfs !== null)
    return {
      command: ['/bin/bash', '-c', `ulimit -u ${limits.processes}; exec "$@"`, 'sh'],
      readable: [],
    };
  return {
    command: [prlimit, `--nproc=${limits.processes}`, '--'],
    readable: [prlimit, ...librariesOf(prlimit, [])],
  };
}

/** The command line of a jail. Values of the environment are not on it: everybody on the host can read command lines. */
export function nativeInvocation(
  { tools, uids }: Confinement,
  uid: number | null,
  jail: NativeJail,
): NativeInvocation {
  const { limits, readable = [], folder = INSIDE.work, fileMiB = limits.diskMiB, processes = true } = jail;
  const prlimit = tools.prlimit as string;
  const counter = uids === null && processes ? counterOf(jail, prlimit) : NO_COUNTER;
  const all = bubblewrapArguments({
    readable: [...new Set([...readable, ...counter.readable])],
    mounts: mounts(jail),
    environment: jail.environment,
    folder,
    filterFd: JAIL_FDS.filter,
    command: [],
  });
  const line = [
    ...(tools.setpriv === null ? [] : [tools.setpriv, ...dropArguments(uid, process.geteuid?.() === 0)]),
    prlimit,
    ...limitArguments({
      dataMiB: DATA_ASIDE_MIB + limits.memoryMiB,
      cpuSeconds: jail.cpuSeconds,
      files: OPEN_FILES,
      threads: uids === null ? null : limits.processes,
      fileMiB,
    }),
    ...[tools.bubblewrap as string, '--args', String(JAIL_FDS.arguments), '--'],
    ...counter.command,
    ...jail.command,
  ];
  const [command = '', ...args] = line;
  return {
    command,
    args,
    filter: seccompFilter({ architecture: process.arch as Architecture, processes, sockets: true }),
    arguments: Buffer.from(
      all
        .slice(0, all.lastIndexOf('--'))
        .map((text) => `${text}\0`)
        .join(''),
    ),
  };
}
