/** Descriptor of the pipe for synchronous calls; only the event loop can read the IPC channel. */
export const SYNC_FD = 5;

/** First descriptor of the files that are opened for a program. */
export const FILES_FD = 6;

/** A program that runs in a child process, with its files and flags. Paths must not contain symbolic links. */
export interface Program {
  /** The built child program. */
  readonly file: string;
  readonly args: readonly string[];
  /** Files and folders that it may read in addition to its own file. */
  readonly readablePaths: readonly string[];
  /** Files that are opened for it, as descriptors from FILES_FD on. Its user id needs no access to the files. */
  readonly files?: readonly string[];
  /** Flags of Node.js and V8. */
  readonly flags: readonly string[];
  /** Data memory (RLIMIT_DATA) in MiB, if the operating system can limit it. */
  readonly dataMiB: number;
  /** True if it gets the pipe for synchronous calls, SYNC_FD. */
  readonly hasSyncPipe?: boolean;
  /** Maximum CPU time of the whole process, in seconds; default two hours. */
  readonly maxCpuSeconds?: number;
}
