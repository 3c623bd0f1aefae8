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
 * Added to RLIMIT_DATA: V8 reserves 512 MiB for code in each process, so a process needs a higher limit than the memory
 * of the tree.
 */
export const RESERVED_DATA_MIB = 2_048;

/** Maximum number of open files per process. */
export const OPEN_FILES = 1_024;
