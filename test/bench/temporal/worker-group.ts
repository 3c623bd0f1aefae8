import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ProcessRole } from '@heddle/temporal';
import { PROCESS_ENV } from '../process-env.ts';
import type { Reply, Request, RunTimes } from './serve.ts';
import type { Job, RuntimeSettings, ProcessSetup } from './contender.ts';

const SERVER_PROGRAM = fileURLToPath(new URL('serve.ts', import.meta.url));
const TIMEOUT_MS = 300_000;

export type ContenderName = 'heddle' | 'baseline';

/** The roles of each process of a contender. The first one is also the client. */
export type Layout = readonly (readonly ProcessRole[])[];

export interface WorkerGroupOptions {
  contender: ContenderName;
  server: ProcessSetup['server'];
  bundlePath: string;
  layout: Layout;
  settings: RuntimeSettings;
}

/** The processes of one contender. The first one is the client. */
export class WorkerGroup {
  readonly #members: ChildProcess[];
  readonly #folder: string;

  private constructor(members: ChildProcess[], folder: string) {
    this.#members = members;
    this.#folder = folder;
  }

  static async start({
    contender,
    server,
    bundlePath,
    layout,
    settings,
  }: WorkerGroupOptions): Promise<WorkerGroup> {
    const folder = mkdtempSync(join(tmpdir(), 'heddle-bench-'));
    const shared = {
      server,
      bundlePath,
      data: join(folder, 'data'),
      queue: `bench-${randomUUID()}`,
      settings,
    };
    const group = new WorkerGroup(
      layout.map(() => forkMember()),
      folder,
    );
    try {
      // Sequential, because the first process creates the data folder.
      for (const [index, roles] of layout.entries())
        await group.#request(index, { contender, open: { ...shared, roles, client: index === 0 } });
      return group;
    } catch (error) {
      await group.stop();
      throw error;
    }
  }

  async run(job: Job, { runs, concurrency }: { runs: number; concurrency: number }): Promise<RunTimes> {
    return (await this.#request(0, { job, runs, concurrency })) as RunTimes;
  }

  async startPausedRuns(count: number, concurrency: number): Promise<void> {
    await this.#request(0, { pausedRuns: count, concurrency });
  }

  /** Returns the CPU time of all processes so far, in milliseconds. */
  async readCpuMs(): Promise<number> {
    let sum = 0;
    for (const index of this.#members.keys()) sum += await this.#readMetric(index, 'cpu');
    return sum;
  }

  /** Returns the memory in MB of the last process, which runs the workflows. */
  readMemoryMb(): Promise<number> {
    return this.#readMetric(this.#members.length - 1, 'memory');
  }

  async #readMetric(index: number, metric: 'cpu' | 'memory'): Promise<number> {
    return ((await this.#request(index, metric)) as { value: number }).value;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#members.map((member, index) => this.#stopMember(member, index)));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #stopMember(member: ChildProcess, index: number): Promise<void> {
    if (member.exitCode !== null || member.signalCode !== null) return;
    const exited = new Promise((resolve) => member.once('exit', resolve));
    const timer = setTimeout(() => member.kill('SIGKILL'), 8000);
    this.#request(index, 'close').catch(() => member.kill('SIGKILL'));
    await exited;
    clearTimeout(timer);
  }

  #request(index: number, request: Request): Promise<Exclude<Reply, { errorMessage: string }>> {
    const member = this.#members[index] as ChildProcess;
    return new Promise((resolve, reject) => {
      const stopListening = (): void => {
        clearTimeout(timer);
        member.off('message', onMessage);
        member.off('exit', onExit);
      };
      const onMessage = (reply: Reply): void => {
        stopListening();
        if (typeof reply === 'object' && 'errorMessage' in reply) reject(new Error(reply.errorMessage));
        else resolve(reply);
      };
      const onExit = (code: number | null): void => {
        stopListening();
        reject(new Error(`The process ended with exit code ${code}.`));
      };
      const timer = setTimeout(() => {
        stopListening();
        reject(new Error(`The process did not respond within ${TIMEOUT_MS / 1000} s.`));
      }, TIMEOUT_MS);
      member.on('message', onMessage);
      member.on('exit', onExit);
      member.send(request);
    });
  }
}

function forkMember(): ChildProcess {
  return fork(SERVER_PROGRAM, [], {
    execArgv: ['--no-warnings', '--expose-gc'],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: PROCESS_ENV,
  });
}
