import { spawn, type ChildProcess } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { ByteBuffer } from '../byte-buffer.ts';
import type { Confinement } from '../isolation/confine.ts';
import { freeSlotUid, takeSlotUid } from '../isolation/slot-uid.ts';
import { nativeInvocation, JAIL_FDS, type NativeJail } from './jail.ts';
import { RESULT_FD } from './layout.ts';
import { treeUse } from './tree-use.ts';

/** Why a tree was ended before its time. */
export type TreeStop = 'cpu' | 'wall' | 'memory' | 'output' | 'result' | 'cancelled';

/** How a tree of processes ended. */
export interface TreeEnd {
  /** Null: the command never ran; `said` tells why. */
  readonly exitCode: number | null;
  readonly stopped: TreeStop | null;
  /** What came on the result's descriptor. */
  readonly result: string;
  /** The end of what was written to standard error. */
  readonly said: string;
  readonly cpuMs: number;
  readonly wallMs: number;
  /** The most that its processes had together when they were looked at, in MiB. */
  readonly memoryMiB: number;
}

export interface TreeOptions {
  readonly jail: NativeJail;
  /** What the command finds as the job. */
  readonly job: string;
  readonly limits: {
    readonly cpuMs: number;
    readonly wallMs: number;
    readonly resultBytes: number;
    /** Of standard output and error together. */
    readonly outputBytes: number;
  };
  readonly signal?: AbortSignal | undefined;
  /** The user that its processes become, which the caller took and frees; default: one of its own. */
  readonly uid?: number;
  /** Gets what is written to standard output and error. */
  readonly output: (data: Buffer, stream: 'stdout' | 'stderr') => void;
}

const LOOK_MS = 100;
const SAID_CHARS = 4_000;
/** The limit of the kernel is behind that of the watch, for processes that nobody waits for. */
const CPU_SLACK_SECONDS = 2;

/** Runs a tree of processes to its end. Rejects where nothing could be started (SandboxError SLOTS_EXHAUSTED and the system's). */
export function runTree(confinement: Confinement, options: TreeOptions): Promise<TreeEnd> {
  if (options.uid !== undefined) return new Tree(confinement, options.uid, options).ended;
  const uid = confinement.uids === null ? null : takeSlotUid(confinement.uids);
  const free = (): void => {
    if (uid !== null) freeSlotUid(uid);
  };
  try {
    const { ended } = new Tree(confinement, uid, options);
    void ended.then(free, free);
    return ended;
  } catch (error) {
    free();
    throw error;
  }
}

class Tree {
  readonly ended: Promise<TreeEnd>;
  readonly #child: ChildProcess;
  readonly #options: TreeOptions;
  readonly #startedMs = performance.now();
  #stopped: TreeStop | null = null;
  #cpuMs = 0;
  #memoryMiB = 0;
  readonly #result = new ByteBuffer();
  #outputBytes = 0;
  #said = '';
  #status = '';

  constructor(confinement: Confinement, uid: number | null, options: TreeOptions) {
    const { jail, job, limits, signal } = options;
    this.#options = options;
    const invocation = nativeInvocation(confinement, uid, jail);
    const child = spawn(invocation.command, invocation.args, {
      env: {},
      cwd: '/',
      stdio: ['ignore', ...Array.from({ length: JAIL_FDS.status }, () => 'pipe' as const)],
    });
    this.#child = child;
    this.#give(JAIL_FDS.filter, invocation.filter);
    this.#give(JAIL_FDS.arguments, invocation.arguments);
    this.#give(JAIL_FDS.job, Buffer.from(job));
    this.#listen();
    const watch = setInterval(() => this.#look(), LOOK_MS);
    const deadline = setTimeout(() => this.#stop('wall'), limits.wallMs);
    const cancel = (): void => this.#stop('cancelled');
    if (signal?.aborted === true) cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    this.ended = new Promise((resolve, reject) => {
      const finish = (): void => {
        clearInterval(watch);
        clearTimeout(deadline);
        signal?.removeEventListener('abort', cancel);
      };
      child.once('error', (error) => {
        finish();
        reject(error);
      });
      child.once('close', () => {
        finish();
        resolve(this.#end());
      });
    });
  }

  #give(descriptor: number, bytes: Buffer): void {
    const pipe = this.#child.stdio[descriptor] as Writable;
    // A process that ends before it has read what it gets tells so by its exit.
    pipe.on('error', () => undefined);
    pipe.end(bytes);
  }

  #listen(): void {
    const { output, limits } = this.#options;
    const { stdout, stderr } = this.#child;
    const stdio = this.#child.stdio as readonly unknown[];
    const write = (data: Buffer, stream: 'stdout' | 'stderr'): void => {
      this.#outputBytes += data.length;
      // Reading costs the host, not the tree.
      if (this.#outputBytes > limits.outputBytes) this.#stop('output');
      else output(data, stream);
    };
    stdout?.on('data', (data: Buffer) => write(data, 'stdout'));
    stderr?.on('data', (data: Buffer) => {
      this.#said = (this.#said + data.toString()).slice(-SAID_CHARS);
      write(data, 'stderr');
    });
    (stdio[RESULT_FD] as Readable).on('data', (data: Buffer) => {
      if (this.#result.length + data.length > limits.resultBytes) this.#stop('result');
      else this.#result.add(data);
    });
    (stdio[JAIL_FDS.status] as Readable).on('data', (data: Buffer) => {
      this.#status = (this.#status + data.toString()).slice(-SAID_CHARS);
    });
  }

  #look(): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const { cpuMs, memoryMiB } = treeUse(pid);
    this.#cpuMs = Math.max(this.#cpuMs, cpuMs);
    this.#memoryMiB = Math.max(this.#memoryMiB, memoryMiB);
    if (cpuMs > this.#options.limits.cpuMs) this.#stop('cpu');
    else if (memoryMiB > this.#options.jail.limits.memoryMiB) this.#stop('memory');
  }

  /** Ends the whole tree: with bubblewrap ends the first process of the namespace, and with that everything in it. */
  #stop(why: TreeStop): void {
    this.#stopped ??= why;
    this.#child.kill('SIGKILL');
  }

  #end(): TreeEnd {
    const exitCode = /"exit-code"\s*:\s*(\d+)/.exec(this.#status)?.[1];
    return {
      exitCode: exitCode === undefined ? null : Number(exitCode),
      stopped: this.#stopped,
      result: this.#result.view().toString('utf8'),
      said: this.#said.trim(),
      cpuMs: this.#cpuMs,
      wallMs: performance.now() - this.#startedMs,
      memoryMiB: this.#memoryMiB,
    };
  }
}

/** Processor time after which the kernel itself ends a process, in seconds. */
export function kernelCpuSeconds(cpuMs: number): number {
  return Math.ceil(cpuMs / 1_000) + CPU_SLACK_SECONDS;
}
