/** What one native job may use besides the limits of all jobs. */
export interface NativeLimits {
  /** Memory of all its processes together, in MiB. */
  readonly memoryMiB: number;
  /** Of `/work` and of `/tmp`, each, in MiB. */
  readonly diskMiB: number;
  readonly processes: number;
}

export const NATIVE_LIMITS: NativeLimits = { memoryMiB: 512, diskMiB: 128, processes: 128 };

/** V8 sets 512 MiB aside for code in each process with it, so that the limit of one process cannot be what all may use. */
export const DATA_ASIDE_MIB = 2_048;

/** Open files of a process. */
export const OPEN_FILES = 1_024;
