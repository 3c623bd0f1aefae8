import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { killProcess } from '../kill-process.ts';
import { ByteBuffer } from '../byte-buffer.ts';
import type { Confinement } from '../isolation/confine.ts';
import { freeProcessUid, takeProcessUid } from '../isolation/process-uid.ts';
import { nativeInvocation, JAIL_FDS, type NativeJail } from './jail.ts';
import { RESULT_FD } from './layout.ts';
import { readProcessStat } from '../process-stat.ts';

/** Resource use of a process and all its descendants. */
interface ProcessTreeUsage {
  /** CPU time, including ended processes that were waited for, in milliseconds. */
  readonly cpuMs: number;
  /** Resident memory in MiB; shared pages count once per process. */
  readonly memoryMiB: number;
  readonly processCount: number;
}

/** A process in `/proc`: its parent, CPU time and resident memory. */
interface ProcessUsage {
  readonly parentPid: number;
  readonly ticks: number;
  readonly pages: number;
}

/** Length of a kernel clock tick (USER_HZ), which is fixed at 100 per second. */
const TICK_MS = 10;
const PAGE_BYTES = 4_096;

function readProcessUsage(pid: string): ProcessUsage | undefined {
  const stat = readProcessStat(pid);
  if (stat === undefined) return undefined;
  // The numbers of the fields are those of proc_pid_stat(5).
  const field = (number: number): number => Number(stat(number));
  return { parentPid: field(4), ticks: field(14) + field(15) + field(16) + field(17), pages: field(24) };
}

/** Measures the process tree below `root`. */
function measureProcessTree(root: number): ProcessTreeUsage {
  const usageByPid = new Map<number, ProcessUsage>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const usage = readProcessUsage(name);
    if (usage !== undefined) usageByPid.set(Number(name), usage);
  }
  const childrenByParent = Map.groupBy(usageByPid, ([, { parentPid }]) => parentPid);
  let [ticks, pages, processCount] = [0, 0, 0];
  const pendingPids = [root];
  for (let pid = pendingPids.pop(); pid !== undefined; pid = pendingPids.pop()) {
    const usage = usageByPid.get(pid);
    if (usage === undefined) continue;
    processCount++;
    ticks += usage.ticks;
    pages += usage.pages;
    pendingPids.push(...(childrenByParent.get(pid) ?? []).map(([childPid]) => childPid));
  }
  return { cpuMs: ticks * TICK_MS, memoryMiB: (pages * PAGE_BYTES) / 2 ** 20, processCount };
}

/** Why a process tree was stopped. */
export type ProcessTreeStopReason = 'cpu' | 'wall' | 'memory' | 'output' | 'result' | 'cancelled';

/** The end of a process tree. */
export interface ProcessTreeEnd {
  /** Null if the command never ran; `stderr` then contains the reason. */
  readonly exitCode: number | null;
  readonly stopReason: ProcessTreeStopReason | undefined;
  /** Data written to the result descriptor. */
  readonly result: string;
  /** The last part of standard error. */
  readonly stderr: string;
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Peak of the measured memory of all its processes together, in MiB. */
  readonly peakMemoryMiB: number;
}

export interface ProcessTreeOptions {
  readonly jail: NativeJail;
  /** The job file's content. */
  readonly job: string;
  readonly limits: {
    readonly cpuMs: number;
    readonly wallMs: number;
    readonly resultBytes: number;
    /** Standard output and standard error together. */
    readonly outputBytes: number;
  };
  readonly signal?: AbortSignal | undefined;
  /** User id of its processes, taken and freed by the caller; default: a new one. */
  readonly uid?: number;
  /** Receives standard output and standard error. */
  readonly onOutput: (data: Buffer, stream: 'stdout' | 'stderr') => void;
}

const POLL_INTERVAL_MS = 100;
const STDERR_CHARS = 4_000;
/** The kernel's limit is higher than ours; it catches processes that are not waited for. */
const CPU_SLACK_SECONDS = 2;

/**
 * Runs a process tree until it ends. Rejects if it cannot be started (SandboxError SLOTS_EXHAUSTED, or a system error).
 */
export function runProcessTree(
  confinement: Confinement,
  options: ProcessTreeOptions,
): Promise<ProcessTreeEnd> {
  if (options.uid !== undefined) return new ProcessTree(confinement, options.uid, options).completion;
  const uid = confinement.uids === undefined ? undefined : takeProcessUid(confinement.uids);
  const freeUid = (): void => {
    if (uid !== undefined) freeProcessUid(uid);
  };
  try {
    const { completion } = new ProcessTree(confinement, uid, options);
    void completion.then(freeUid, freeUid);
    return completion;
  } catch (error) {
    freeUid();
    throw error;
  }
}

class ProcessTree {
  readonly completion: Promise<ProcessTreeEnd>;
  readonly #child: ChildProcess;
  readonly #options: ProcessTreeOptions;
  readonly #startedAtMs = performance.now();
  #stopReason: ProcessTreeStopReason | undefined;
  #cpuMs = 0;
  #peakMemoryMiB = 0;
  readonly #result = new ByteBuffer();
  #outputBytes = 0;
  #stderr = '';
  #status = '';

  constructor(confinement: Confinement, uid: number | undefined, options: ProcessTreeOptions) {
    const { jail, job, limits, signal } = options;
    this.#options = options;
    const invocation = nativeInvocation(confinement, uid, jail);
    const child = spawn(invocation.command, invocation.args, {
      env: {},
      cwd: '/',
      stdio: ['ignore', ...Array.from({ length: JAIL_FDS.status }, () => 'pipe' as const)],
    });
    this.#child = child;
    this.#write(JAIL_FDS.filter, invocation.filter);
    this.#write(JAIL_FDS.arguments, invocation.jailArguments);
    this.#write(JAIL_FDS.job, Buffer.from(job));
    this.#listen();
    const pollTimer = setInterval(() => this.#poll(), POLL_INTERVAL_MS);
    const deadlineTimer = setTimeout(() => this.#stop('wall'), limits.wallMs);
    const cancel = (): void => this.#stop('cancelled');
    if (signal?.aborted === true) cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    this.completion = new Promise((resolve, reject) => {
      const stopWatching = (): void => {
        clearInterval(pollTimer);
        clearTimeout(deadlineTimer);
        signal?.removeEventListener('abort', cancel);
      };
      child.once('error', (error) => {
        stopWatching();
        reject(error);
      });
      child.once('close', () => {
        stopWatching();
        resolve(this.#createEnd());
      });
    });
  }

  #write(descriptor: number, bytes: Buffer): void {
    const pipe = this.#child.stdio[descriptor] as Writable;
    // Ignored: if a process ends before it has read its input, its exit is reported.
    pipe.on('error', () => undefined);
    pipe.end(bytes);
  }

  #listen(): void {
    const { onOutput, limits } = this.#options;
    const { stdout, stderr } = this.#child;
    const stdio = this.#child.stdio as readonly unknown[];
    const handleOutput = (data: Buffer, stream: 'stdout' | 'stderr'): void => {
      this.#outputBytes += data.length;
      // Stop at the limit: reading further output would only use resources of the host.
      if (this.#outputBytes > limits.outputBytes) this.#stop('output');
      else onOutput(data, stream);
    };
    stdout?.on('data', (data: Buffer) => handleOutput(data, 'stdout'));
    stderr?.on('data', (data: Buffer) => {
      this.#stderr = (this.#stderr + data.toString()).slice(-STDERR_CHARS);
      handleOutput(data, 'stderr');
    });
    (stdio[RESULT_FD] as Readable).on('data', (data: Buffer) => {
      if (this.#result.length + data.length > limits.resultBytes) this.#stop('result');
      else this.#result.add(data);
    });
    (stdio[JAIL_FDS.status] as Readable).on('data', (data: Buffer) => {
      this.#status = (this.#status + data.toString()).slice(-STDERR_CHARS);
    });
  }

  #poll(): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const { cpuMs, memoryMiB } = measureProcessTree(pid);
    this.#cpuMs = Math.max(this.#cpuMs, cpuMs);
    this.#peakMemoryMiB = Math.max(this.#peakMemoryMiB, memoryMiB);
    if (cpuMs > this.#options.limits.cpuMs) this.#stop('cpu');
    else if (memoryMiB > this.#options.jail.limits.memoryMiB) this.#stop('memory');
  }

  /** Ends the whole tree: killing bubblewrap ends the first process of the namespace, which ends all others. */
  #stop(reason: ProcessTreeStopReason): void {
    this.#stopReason ??= reason;
    killProcess(this.#child);
  }

  #createEnd(): ProcessTreeEnd {
    const exitCode = /"exit-code"\s*:\s*(\d+)/.exec(this.#status)?.[1];
    return {
      exitCode: exitCode === undefined ? null : Number(exitCode),
      stopReason: this.#stopReason,
      result: this.#result.view().toString('utf8'),
      stderr: this.#stderr.trim(),
      cpuMs: this.#cpuMs,
      wallMs: performance.now() - this.#startedAtMs,
      peakMemoryMiB: this.#peakMemoryMiB,
    };
  }
}

/** Returns the RLIMIT_CPU of each process for a CPU time limit of the whole tree, in seconds. */
export function kernelCpuSeconds(cpuMs: number): number {
  return Math.ceil(cpuMs / 1_000) + CPU_SLACK_SECONDS;
}
