import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Json } from '@heddle/core';
import { onTestFinished, vi } from 'vitest';

/** The program that `startChild` starts. */
export const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));

/** A process that prints one JSON value per line. */
export interface Child {
  pid: number;
  /** The values printed so far. */
  lines: Json[];
  /** Returns what the process has printed on stderr so far. */
  errors: () => string;
  /** Resolves with all lines when the process has printed `count` lines. */
  waitForLines(count: number): Promise<Json[]>;
  /** Sends SIGKILL and waits for the exit. */
  kill(): Promise<void>;
  /** Resolves with the exit code. */
  ended: Promise<number | null>;
}

/** Starts child.ts with a command. The process is killed when the test has finished. */
export function startChild(...args: string[]): Child {
  return startProgram(process.execPath, ['--conditions=@heddle/source', CHILD, ...args]);
}

/** Starts a process that prints one JSON value per line. It is killed when the test has finished. */
export function startProgram(command: string, args: string[]): Child {
  const childProcess = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let errors = '';
  childProcess.stderr.on('data', (text: Buffer) => (errors += text.toString()));
  const lines: Json[] = [];
  createInterface({ input: childProcess.stdout }).on('line', (line) => lines.push(JSON.parse(line) as Json));
  const ended = new Promise<number | null>((resolve) => childProcess.on('close', resolve));
  const kill = async (): Promise<void> => {
    childProcess.kill('SIGKILL');
    await ended;
  };
  onTestFinished(kill);
  const waitForLines = (count: number): Promise<Json[]> =>
    vi.waitUntil(
      () => {
        if (errors !== '') throw new Error(errors);
        return lines.length >= count && lines;
      },
      { timeout: 20_000 },
    );
  return { pid: childProcess.pid as number, lines, errors: () => errors, waitForLines, kill, ended };
}
