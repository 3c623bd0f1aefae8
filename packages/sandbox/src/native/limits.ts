/** Limits of a native job in addition to those of all jobs. */
export interface NativeLimits {
  /** Memory of all its processes together, in MiB. */
  readonly memoryMiB: number;
  /** Size of `/work` and of `/tmp`, each, in MiB. */
  readonly diskMiB: number;
  readonly processes: number;
}

export const NATIVE_LIMITS: NativeLimits = { memoryMiB: 512, diskMiB: 128, processes: 128 };

/**
 * Added to the memory of the process tree for RLIMIT_DATA of each process, which also counts memory that is only
 * reserved: V8 alone reserves 512 MiB for code.
 */
export const RESERVED_DATA_MIB = 2_048;

/** Maximum number of open files per process. */
export const OPEN_FILES = 1_024;
