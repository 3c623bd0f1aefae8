import type { Readable, Writable } from 'node:stream';

/** An output stream, which may be a terminal. */
export interface OutputStream extends Writable {
  isTTY?: boolean;
  columns?: number;
}

/** The standard streams. Tests pass their own. */
export interface Io {
  stdin: Readable;
  /** Results only, so that they can be piped. */
  stdout: OutputStream;
  /** Progress and messages for people. */
  stderr: OutputStream;
}

/** Receives the exit code of the command. */
export type SetExitCode = (exitCode: number) => void;

/** Returns the streams of this process. */
export function processIo(): Io {
  return {
    // Opened on first use: few commands read it.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
  };
}

/** Writes indented JSON and a newline to stdout. */
export function writeJson(io: Io, value: unknown): void {
  io.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}
