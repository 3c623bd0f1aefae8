import { closeSync, fstatSync, mkdirSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { lastLine } from './command.ts';

/** A file that receives a server's output. */
export interface ServerLog {
  /** File descriptor for the server. */
  readonly fd: number;
  /** Returns the last line of output. */
  lastLine(): string;
  /** Closes the descriptor in this process. */
  close(): void;
}

const TAIL_BYTES = 4096;

/** Opens the log `file` for appending, or an unnamed file, which the system removes when no process has it open. */
export function openLog(file: string | undefined): ServerLog {
  const fd = file === undefined ? openUnnamedFile() : openNamedFile(file);
  return {
    fd,
    lastLine() {
      const { size } = fstatSync(fd);
      const tail = Buffer.alloc(Math.min(size, TAIL_BYTES));
      readSync(fd, tail, 0, tail.length, size - tail.length);
      return lastLine(tail.toString());
    },
    close: () => closeSync(fd),
  };
}

function openNamedFile(file: string): number {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  return openSync(file, 'a+', 0o600);
}

function openUnnamedFile(): number {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-temporal-'));
  try {
    return openSync(join(folder, 'server.log'), 'a+');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
