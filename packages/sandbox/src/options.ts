import { availableParallelism } from 'node:os';
import type { EgressPolicy, EgressRequest, EgressResponse } from './egress/types.ts';
import { SandboxError } from './error.ts';
import type { IsolationOptions } from './isolation/options.ts';
import type { ImageSource } from './image.ts';
import type { Limits } from './limits.ts';

/** What a fetch of user code belongs to. */
export interface FetchContext {
  readonly runId: string;
  readonly tenant: string;
  /** Aborted when the job ends. */
  readonly signal: AbortSignal;
}

interface Recycle {
  readonly jobs?: number;
  readonly ageMs?: number;
  readonly rssMiB?: number;
}

export interface SandboxOptions {
  /** Child processes at most; default: the number of processors. */
  readonly maxProcesses?: number;
  /** Processes that are kept when idle; default 0. None is started before the first job. */
  readonly minProcesses?: number;
  /** Which jobs share an isolate, each in a context of its own; default `run`. */
  readonly share?: 'run' | 'tenant' | 'isolate';
  /** How far the operating system has to confine the processes, and below what no job runs. */
  readonly isolation?: IsolationOptions;
  readonly limits?: Partial<Limits>;
  /** Where user code may connect to; default: public addresses. */
  readonly egress?: EgressPolicy;
  /** Takes the place of the guarded client: every fetch of user code comes here. */
  readonly fetch?: (request: EgressRequest, context: FetchContext) => Promise<EgressResponse>;
  /** Lets V8 compile to machine code in the processes: faster loops, a larger attack surface; default false. */
  readonly jit?: boolean;
  /** The Node.js of the processes, 24 or newer; default: this process' own. */
  readonly execPath?: string;
  /** How long a process may be idle before it is stopped, in milliseconds; default 60,000. */
  readonly idleMs?: number;
  /** How long a process may take until it is ready for jobs, in milliseconds; default 60,000. */
  readonly startTimeoutMs?: number;
  /** How long a job may wait for a process before SANDBOX_BUSY, in milliseconds; default 30,000. */
  readonly queueTimeoutMs?: number;
  /** Jobs waiting at most, over all tenants (default 10,000) and per tenant (default 2,000). */
  readonly maxQueued?: number;
  readonly maxQueuedPerTenant?: number;
  /** When a process is replaced: after so many jobs (20,000), milliseconds (600,000) or MiB of memory (512). */
  readonly recycle?: Recycle;
  /** The processes of Python, which are others than those of JavaScript. */
  readonly python?: {
    /** At most; default: the number of processors. Each serves one job at a time. */
    readonly maxProcesses?: number;
    /** Kept when idle; default 0. */
    readonly minProcesses?: number;
    /** After so many jobs (500), milliseconds (600,000) or MiB of memory (420). */
    readonly recycle?: Recycle;
    /** Where this host keeps the memory that its interpreters begin with, whose seed of string hashes no other host has; default: none of its own. */
    readonly folder?: string;
  };
  /** Jobs with native images and shell scripts, each a tree of processes of its own. */
  readonly native?: {
    /** Trees at the same time; default: the number of processors. */
    readonly maxProcesses?: number;
    /** The image of shell scripts that name none. */
    readonly image?: string;
    /** Memory of all processes of a job together (512), of `/work` and of `/tmp` each (128), in MiB, and how many they are (128). */
    readonly memoryMiB?: number;
    readonly diskMiB?: number;
    readonly processes?: number;
  };
  /** Where the images come from that jobs name. */
  readonly images?: ImageSource;
}

const DEFAULTS = {
  minProcesses: 0,
  idleMs: 60_000,
  startTimeoutMs: 60_000,
  queueTimeoutMs: 30_000,
  maxQueued: 10_000,
  maxQueuedPerTenant: 2_000,
  pipeline: 4,
  maxJobsPerProcess: 64,
};

/** A process that has done so much, is so old, or holds so much is replaced by a new one. */
const RECYCLE = { jobs: 20_000, ageMs: 600_000, rssMiB: 512 };

const LEAST: Readonly<Record<string, number>> = { maxProcesses: 1, idleMs: 1, startTimeoutMs: 1 };

/**
 * The options that the pool takes, with defaults.
 * @throws SandboxError INVALID_OPTION.
 */
export function resolveOptions(options: SandboxOptions) {
  const numbers = { maxProcesses: availableParallelism(), ...DEFAULTS };
  for (const name of Object.keys(numbers) as (keyof typeof numbers)[]) {
    const value = name in options ? options[name as keyof SandboxOptions] : undefined;
    if (value === undefined || typeof numbers[name] !== 'number') continue;
    if (!Number.isInteger(value) || (value as number) < (LEAST[name] ?? 0)) {
      throw new SandboxError(
        'INVALID_OPTION',
        `The sandbox option ${name} is ${String(value as number)}; give a whole number.`,
      );
    }
    Object.assign(numbers, { [name]: value });
  }
  return {
    ...numbers,
    recycle: { ...RECYCLE, ...options.recycle },
    execPath: options.execPath ?? process.execPath,
  };
}

/**
 * The options of the processes of Python, with defaults; what is not said is as for JavaScript.
 * @throws SandboxError INVALID_OPTION.
 */
export function resolvePythonOptions(options: SandboxOptions) {
  const { recycle, maxProcesses = availableParallelism(), minProcesses = 0 } = options.python ?? {};
  return {
    ...resolveOptions({ ...options, maxProcesses, minProcesses }),
    // While Python waits for an answer its thread does nothing else, so nothing else is given to it.
    pipeline: 1,
    maxJobsPerProcess: 1,
    recycle: { jobs: 500, ageMs: 600_000, rssMiB: 420, ...recycle },
  };
}
