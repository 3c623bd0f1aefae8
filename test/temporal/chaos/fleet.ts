import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TemporalOptions } from '@heddle/temporal';

/** Options of a worker process. */
export type WorkerOptions = TemporalOptions & {
  /** URL of the effect server. */
  effectServerUrl: string;
};

/** A worker process that was ended by SIGKILL. */
export interface KilledWorker {
  pid: number;
  atMs: number;
}

const WORKER_SCRIPT = fileURLToPath(new URL('worker.ts', import.meta.url));

/** Worker processes of a test. */
export class Fleet {
  /** Output of the workers, except the line `ready`. */
  readonly output: string[] = [];
  readonly killedWorkers: KilledWorker[] = [];
  /** Messages about workers that ended without being killed. */
  readonly unexpectedExits: string[] = [];
  readonly #options: WorkerOptions;
  readonly #children = new Map<number, ChildProcess>();

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** Ids of the live processes. */
  get pids(): number[] {
    return [...this.#children.keys()];
  }

  /** Starts a worker. Resolves with its process id when it is ready, or with undefined if it was killed before. */
  async start(): Promise<number | undefined> {
    const args = ['--conditions=@heddle/source', WORKER_SCRIPT, JSON.stringify(this.#options)];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    await once(child, 'spawn');
    const pid = child.pid as number;
    this.#children.set(pid, child);
    child.stdin.on('error', () => undefined);
    child.stderr
      .setEncoding('utf8')
      .on('data', (text: string) => this.output.push(`${pid}: ${text.trimEnd()}`));
    const readiness = Promise.withResolvers<number | undefined>();
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line === 'ready') readiness.resolve(pid);
      else this.output.push(`${pid}: ${line}`);
    });
    child.once('exit', (code, signal) => {
      if (this.#children.delete(pid)) this.unexpectedExits.push(`${pid} ended with ${signal ?? code}`);
      readiness.resolve(undefined);
    });
    return readiness.promise;
  }

  /** Kills the worker with SIGKILL. Resolves when it has exited. */
  async kill(pid: number): Promise<void> {
    const child = this.#children.get(pid);
    if (!child) return;
    this.#children.delete(pid);
    const exitPromise = once(child, 'exit');
    child.kill('SIGKILL');
    this.killedWorkers.push({ pid, atMs: Date.now() });
    await exitPromise;
  }

  /** Stops all workers, without counting them as killed. */
  async stop(): Promise<void> {
    const children = [...this.#children.values()];
    this.#children.clear();
    await Promise.all(
      children.map(async (child) => {
        const exitPromise = once(child, 'exit');
        child.kill('SIGKILL');
        await exitPromise;
      }),
    );
  }
}
