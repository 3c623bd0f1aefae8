import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Json } from '@heddle/core';
import { onTestFinished, vi } from 'vitest';

/** The program that `startChild` starts. */
export const CHILD_PROGRAM = fileURLToPath(new URL('store-process.ts', import.meta.url));

/** A process that prints one JSON value per line. */
export interface Child {
  pid: number;
  /** The values printed so far. */
  values: Json[];
  /** Returns what the process has printed on stderr so far. */
  readStderr: () => string;
  /** Resolves with all values when the process has printed `count` lines. */
  waitForLines(count: number): Promise<Json[]>;
  /** Sends SIGKILL and waits for the exit. */
  kill(): Promise<void>;
  /** Resolves with the exit code. */
  exitCode: Promise<number | null>;
}

/** Starts store-process.ts with a command. The process is killed when the test has finished. */
export function startChild(...args: string[]): Child {
  return startProgram(process.execPath, ['--conditions=@heddle/source', CHILD_PROGRAM, ...args]);
}

/** Starts a process that prints one JSON value per line. It is killed when the test has finished. */
export function startProgram(command: string, args: string[]): Child {
  const childProcess = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let stderrText = '';
  childProcess.stderr.on('data', (text: Buffer) => (stderrText += text.toString()));
  const values: Json[] = [];
  createInterface({ input: childProcess.stdout }).on('line', (line) => values.push(JSON.parse(line) as Json));
  const exitCode = new Promise<number | null>((resolve) => childProcess.on('close', resolve));
  const kill = async (): Promise<void> => {
    childProcess.kill('SIGKILL');
    await exitCode;
  };
  onTestFinished(kill);
  const waitForLines = (count: number): Promise<Json[]> =>
    vi.waitUntil(
      () => {
        if (stderrText !== '') throw new Error(stderrText);
        return values.length >= count && values;
      },
      { timeout: 20_000 },
    );
  return {
    pid: childProcess.pid as number,
    values,
    readStderr: () => stderrText,
    waitForLines,
    kill,
    exitCode,
  };
}
