import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { EngineOptions, RunEvent } from '@heddle/engine';
import type { WorkerOptions } from '@heddle/temporal';
import { expect, onTestFinished } from 'vitest';
import { emissionsIn, summarize, TEXT, textByBlockName } from './talk.ts';

const PROGRAM = fileURLToPath(new URL('process.ts', import.meta.url));

/** Options of a process that runs TALK_WORKFLOW: an engine on a store, or a worker. */
export interface StreamingProcessOptions {
  engine?: Pick<EngineOptions, 'data' | 'postgres'>;
  worker?: WorkerOptions;
  /** Index of the word of block T before which the process is killed. */
  killBeforeWord?: number;
}

/**
 * Starts a process and kills it just before it emits the word `killBeforeWord`. `exited` resolves when it has exited.
 * `end` closes its input, which stops a worker.
 */
export function startStreamingProcess(options: StreamingProcessOptions): {
  exited: Promise<void>;
  end(): void;
} {
  const child = spawn(process.execPath, ['--conditions=@heddle/source', PROGRAM, JSON.stringify(options)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (options.killBeforeWord !== undefined && line === String(options.killBeforeWord))
      child.kill('SIGKILL');
  });
  const exited = new Promise<void>((resolve) => child.on('close', () => resolve()));
  return { exited, end: () => void child.stdin.end() };
}

/**
 * Expects the events of a run whose first process was killed before the third word of T: the second process discards
 * the text and emits it again.
 */
export function expectTextEmittedAgain(events: readonly RunEvent[]): void {
  const emissions = emissionsIn(events);
  expect(emissions.map(({ number }) => number)).toEqual(emissions.map((_, index) => index + 1));
  expect(textByBlockName(emissions)).toEqual({ T: TEXT, Z: TEXT });
  expect(summarize(events)).toEqual([
    'run started',
    'Start started',
    'Start completed',
    'T started',
    ...['T "Once "', 'T "upon "', 'T reset', 'T "Once "', 'T "upon "', 'T "a "', 'T "time"'],
    'T completed',
    'Z started',
    ...['Z "Once "', 'Z "upon "', 'Z "a "', 'Z "time"'],
    'Z completed',
    'run ended',
  ]);
}
