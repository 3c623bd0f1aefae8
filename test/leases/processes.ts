import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Json } from '@heddle/core';
import type { RunDetail, RunResource } from '@heddle/engine';
import { onTestFinished } from 'vitest';

/** Options of a process. */
export interface EngineProcessOptions {
  url: string;
  schema: string;
  leaseMs: number;
  maxConnections?: number;
  /** URL of the effect server. */
  effectsUrl: string;
}

/** A call that a process makes to its engine. */
export interface Command {
  id: number;
  call: string;
  runId?: string;
  workflow?: string;
  definition?: Json;
  input?: Json;
  token?: string;
}

/** A line that a process prints. */
interface Message {
  id?: number;
  value?: unknown;
  failure?: { code?: string; message: string };
  error?: { code?: string; message: string };
  ready?: true;
}

/** A process with its own engine. */
export interface EngineProcess {
  pid: number;
  /** Errors that the engine reported in the background. */
  errors: { code?: string; message: string }[];
  call(call: 'getRun', command: Partial<Command>): Promise<RunDetail>;
  call(call: 'execute' | 'result' | 'resume', command: Partial<Command>): Promise<RunResource>;
  call(call: string, command?: Partial<Command>): Promise<unknown>;
  /** Sends a signal. */
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
  /** Ends the process with SIGKILL. Resolves when it has exited. */
  kill(): Promise<void>;
}

const ENGINE_PROCESS_FILE = fileURLToPath(new URL('engine-process.ts', import.meta.url));

/** Starts a process and resolves when it is ready. It is killed when the test has finished. */
export async function startEngineProcess(options: EngineProcessOptions): Promise<EngineProcess> {
  const child = spawn(
    process.execPath,
    ['--conditions=@heddle/source', ENGINE_PROCESS_FILE, JSON.stringify(options)],
    {
      stdio: ['pipe', 'pipe', 'pipe'],
    },
  );
  const exit = once(child, 'exit');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exit;
  };
  onTestFinished(kill);
  child.stdin.on('error', () => undefined);
  const errors: EngineProcess['errors'] = [];
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const pendingCalls = new Map<number, (message: Message) => void>();
  const ready = Promise.withResolvers<void>();
  child.once('exit', () => ready.reject(new Error(`The process has ended: ${stderr}`)));
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as Message;
    if (message.ready) ready.resolve();
    else if (message.error) errors.push(message.error);
    else pendingCalls.get(message.id ?? 0)?.(message);
  });
  let lastId = 0;
  const call = async (name: string, command: Partial<Command> = {}): Promise<unknown> => {
    const id = ++lastId;
    const replyPromise = new Promise<Message>((resolve) => pendingCalls.set(id, resolve));
    child.stdin.write(`${JSON.stringify({ ...command, id, call: name })}\n`);
    const { value, failure } = await replyPromise;
    if (failure) throw Object.assign(new Error(failure.message), { code: failure.code });
    return value;
  };
  await ready.promise;
  return {
    pid: child.pid as number,
    errors,
    call: call as EngineProcess['call'],
    signal: (name) => void child.kill(name),
    kill,
  };
}
