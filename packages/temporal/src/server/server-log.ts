import { closeSync, fstatSync, mkdirSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { lastLine } from './command.ts';

/** A file that a server prints into. */
export interface ServerLog {
  /** For the server to inherit. */
  readonly fd: number;
  /** What was printed last. */
  lastLine(): string;
  /** Closes this process's hold of it. */
  close(): void;
}

const TAIL_BYTES = 4096;

/** The log `file`, to be appended to; or one without a name, which the system removes with the last process that has it. */
export function openLog(file: string | undefined): ServerLog {
  const fd = file === undefined ? openNameless() : openNamed(file);
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

function openNamed(file: string): number {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  return openSync(file, 'a+', 0o600);
}

function openNameless(): number {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-temporal-'));
  try {
    return openSync(join(folder, 'server.log'), 'a+');
  } finally {
    rmSync(folder, { recursive: true });
  }
}
