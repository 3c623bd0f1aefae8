/** What one process may take of the machine. */
export interface ResourceLimits {
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
