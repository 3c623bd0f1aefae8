/** The descriptor of the pipe by which a program asks and waits: its channel is read by the event loop only. */
export const SYNC_FD = 5;

/** The first descriptor of the files that a program gets open. */
export const FILES_FD = 6;

/** What runs in a child process, and what that program needs of it; paths are real ones. */
export interface Program {
  /** The built child program. */
  readonly file: string;
  readonly args: readonly string[];
  /** Files and folders that it may read besides its own. */
  readonly readable: readonly string[];
  /** Files that it gets open, from FILES_FD on: in folders that its user need not see. */
  readonly files?: readonly string[];
  /** Flags of Node.js and V8. */
  readonly flags: readonly string[];
  /** Memory that the process may write to, in MiB, where the operating system can limit it. */
  readonly dataMiB: number;
  /** Whether it gets a pipe of its own to ask by and wait for the answer, as SYNC_FD. */
  readonly waits?: boolean;
  /** Processor time of the whole process, in seconds; two hours by default. */
  readonly maxCpuSeconds?: number;
}
