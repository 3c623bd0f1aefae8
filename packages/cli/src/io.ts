import type { Readable, Writable } from 'node:stream';

/** A stream of the terminal, or what it was redirected to. */
export interface OutStream extends Writable {
  isTTY?: boolean;
  columns?: number;
}

/** The world as the command line sees it. Tests bring their own. */
export interface Io {
  stdin: Readable;
  /** Only what a command was asked for: it can be piped. */
  stdout: OutStream;
  /** Everything that is meant for people while they wait. */
  stderr: OutStream;
}

/** The streams of this process. */
export function processIo(): Io {
  return {
    // Opened only by who reads it: few commands do.
    get stdin() {
      return process.stdin;
    },
    stdout: process.stdout,
    stderr: process.stderr,
  };
}

/** Writes JSON to stdout, as people and programs like it: indented, with a newline at the end. */
export function writeJson(io: Io, value: unknown): void {
  io.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}
