import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { createRecordingIo } from './io.ts';
import { isFullRun } from './scale.ts';

const BIN = fileURLToPath(new URL('../../packages/cli/bin/heddle.js', import.meta.url));

/** The exit code and output of a command. */
export interface CommandResult {
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A command in its own process. */
export interface RunningCommand {
  child: ChildProcess;
  /** Resolves when stdout or stderr contains the text; rejects if the command ends first. */
  waitForText(text: string): Promise<void>;
  /** Resolves with the first line of stdout. */
  readFirstLine(): Promise<string>;
  /** Resolves with the first line of stdout that contains the text. */
  findLine(text: string): Promise<string>;
  result: Promise<CommandResult>;
}

export interface HeddleOptions {
  cwd?: string;
  /** Standard input. */
  input?: string;
  /** Variables in addition to PATH and HOME, which every command has. */
  env?: { [name: string]: string };
  /** Options of Node.js. */
  nodeOptions?: readonly string[];
  /** Registers a function that ends the command; default: the function is called after the test. */
  registerCleanup?: (cleanup: () => void) => void;
  /** The Node executable; default: that of the tests. */
  execPath?: string;
}

/** True while a command runs in this process, which has one working directory and one environment for all commands. */
let isBusy = false;

/**
 * Runs a command to its end. By default the command runs in this process, from the sources, because a process of the
 * built CLI (`startHeddle`) takes a second of CPU time. A concurrent second command, a command with options of Node.js
 * or another executable, and every command of a full test run get a separate process.
 */
export async function runHeddle(
  args: readonly string[],
  options: HeddleOptions = {},
): Promise<CommandResult> {
  const needsProcess = isFullRun || isBusy || options.nodeOptions || options.execPath !== undefined;
  if (needsProcess) return startHeddle(args, options).result;
  isBusy = true;
  const restore = applyOptions(options);
  (options.registerCleanup ?? onTestFinished)(restore);
  try {
    const { main } = await import('../../packages/cli/src/main.ts');
    const io = createRecordingIo(options.input);
    const exitCode = await main(args, io);
    return { exitCode, signal: null, stdout: io.stdout.text, stderr: io.stderr.text };
  } finally {
    restore();
  }
}

/** Switches this process to the working directory and environment of a command. Returns a function that undoes this. */
function applyOptions({ cwd, env }: HeddleOptions): () => void {
  const original = { cwd: process.cwd(), env: { ...process.env } };
  replaceEnv({ ...commonEnv(), ...env });
  if (cwd !== undefined) process.chdir(cwd);
  let isApplied = true;
  return () => {
    if (!isApplied) return;
    isApplied = false;
    isBusy = false;
    process.chdir(original.cwd);
    replaceEnv(original.env);
  };
}

function replaceEnv(values: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, values);
}

function commonEnv(): { PATH: string; HOME: string } {
  const { PATH = '', HOME = '' } = process.env;
  return { PATH, HOME };
}

/** A server that accepts requests. */
export interface RunningServer {
  process: RunningCommand;
  url: string;
  /** Printed only at the first start with a store, like the key. */
  workspaceId: string;
  key: string;
}

/** Starts `heddle serve` on a free port. Resolves when it accepts requests. */
export async function startHeddleServe(
  args: readonly string[],
  options: HeddleOptions = {},
): Promise<RunningServer> {
  const process = startHeddle(['serve', '--port', '0', '--json', ...args], options);
  return { ...(JSON.parse(await process.readFirstLine()) as Omit<RunningServer, 'process'>), process };
}

/** Starts the built CLI. It is killed after the test, or when the function passed to `registerCleanup` is called. */
export function startHeddle(args: readonly string[], options: HeddleOptions = {}): RunningCommand {
  const child = spawn(options.execPath ?? process.execPath, [...(options.nodeOptions ?? []), BIN, ...args], {
    cwd: options.cwd,
    env: { ...commonEnv(), ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const { registerCleanup = onTestFinished } = options;
  registerCleanup(() => void child.kill('SIGKILL'));
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  const output = { stdout: '', stderr: '' };
  const listeners = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const check of listeners) check();
    });
  }
  const result = new Promise<CommandResult>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode, signal) => resolve({ exitCode, signal, ...output }));
  });
  return {
    child,
    result,
    waitForText: (text) => waitForText(text, { output, listeners, result }),
    readFirstLine: async () => {
      await waitForText('\n', { output, listeners, result, streams: ['stdout'] });
      return output.stdout.slice(0, output.stdout.indexOf('\n'));
    },
    findLine: async (text) => {
      await waitForText(text, { output, listeners, result, streams: ['stdout'] });
      return output.stdout.split('\n').find((line) => line.includes(text)) ?? '';
    },
  };
}

function waitForText(
  text: string,
  {
    output,
    listeners,
    result,
    streams = ['stdout', 'stderr'],
  }: {
    output: { stdout: string; stderr: string };
    listeners: Set<() => void>;
    result: Promise<CommandResult>;
    streams?: readonly ('stdout' | 'stderr')[];
  },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = (): void => {
      if (!streams.some((name) => output[name].includes(text))) return;
      listeners.delete(check);
      resolve();
    };
    listeners.add(check);
    check();
    result.then(({ exitCode }) => {
      check();
      reject(
        new Error(
          `heddle ended with ${exitCode} without printing "${text}":\n${output.stdout}\n${output.stderr}`,
        ),
      );
    }, reject);
  });
}

/** Returns printed text with placeholders for times and ids of runs, and without lines about slow blocks. */
export function normalizeOutput(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'RUN')
    .replaceAll(/\b[0-9a-f]{8}\b/g, 'RUN')
    .replaceAll(/ *\d+(\.\d)? (ms|s)\b/g, ' TIME')
    .replaceAll(/^… .* is still running.*\n/gm, '');
}
