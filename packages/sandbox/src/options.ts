import { availableParallelism } from 'node:os';
import type { EgressPolicy, EgressRequest, EgressResponse } from './egress/types.ts';
import { SandboxError } from './error.ts';
import type { IsolationOptions } from './isolation/options.ts';
import type { ImageSource } from './image.ts';
import type { JobLimits } from './limits.ts';

/** The job that a fetch of user code belongs to. */
export interface FetchContext {
  readonly runId: string;
  readonly tenant: string;
  /** Aborted when the job ends. */
  readonly signal: AbortSignal;
}

interface RecycleLimits {
  readonly jobs?: number;
  readonly ageMs?: number;
  readonly rssMiB?: number;
}

const SHARE_MODES = ['run', 'tenant', 'none'] as const;

/** The jobs that share an isolate: those of a run, of a tenant, or none. */
export type ShareMode = (typeof SHARE_MODES)[number];

export interface SandboxOptions {
  /** Maximum number of child processes; default: the number of processors. */
  readonly maxProcesses?: number;
  /** Idle processes to keep; default 0. None is started before the first job. */
  readonly minProcesses?: number;
  /** The jobs that share an isolate, each in its own context: those of a run (default), of a tenant, or none. */
  readonly share?: ShareMode;
  /** The isolation level to use, and the minimum level that jobs require. */
  readonly isolation?: IsolationOptions;
  readonly limits?: Partial<JobLimits>;
  /** The addresses to which user code may connect; default: public addresses. */
  readonly egress?: EgressPolicy;
  /** Replaces the HTTP client that enforces `egress`: called for every fetch of user code. */
  readonly fetch?: (request: EgressRequest, context: FetchContext) => Promise<EgressResponse>;
  /**
   * Allows V8 to compile to machine code in the processes: faster loops, but a larger attack surface. Default false.
   */
  readonly jit?: boolean;
  /** Path of Node.js 24 or newer for the processes; default: the current one. */
  readonly execPath?: string;
  /** Idle time after which a process is stopped, in milliseconds; default 60,000. */
  readonly idleMs?: number;
  /** Time within which a process must be ready for jobs, in milliseconds; default 60,000. */
  readonly startTimeoutMs?: number;
  /** Time that a job may wait for a process, in milliseconds, before it fails with SANDBOX_BUSY; default 30,000. */
  readonly queueTimeoutMs?: number;
  /** Maximum number of waiting jobs over all tenants (default 10,000) and per tenant (default 2,000). */
  readonly maxQueued?: number;
  readonly maxQueuedPerTenant?: number;
  /** When a process is replaced; defaults: after 20,000 jobs, after 600,000 ms, or with 512 MiB of memory. */
  readonly recycle?: RecycleLimits;
  /** Python processes, which are separate from JavaScript processes. */
  readonly python?: {
    /** Maximum number; default: the number of processors. Each process serves one job at a time. */
    readonly maxProcesses?: number;
    /** Idle processes to keep; default 0. */
    readonly minProcesses?: number;
    /** When a process is replaced; defaults: after 500 jobs, after 600,000 ms, or with 420 MiB of memory. */
    readonly recycle?: RecycleLimits;
    /**
     * Folder for a memory snapshot of the interpreter that this host makes. The seed of its string hashes is private.
     * Default: the snapshot in the package, whose seed is public.
     */
    readonly folder?: string;
  };
  /** Jobs with native images and shell scripts; each is a separate process tree. */
  readonly native?: {
    /** Maximum number of process trees at the same time; default: the number of processors. */
    readonly maxProcesses?: number;
    /** Image for shell scripts that do not name one. */
    readonly image?: string;
    /** Memory limit for all processes of a job together; default 512. */
    readonly memoryMiB?: number;
    /** Size of `/work`, and of `/tmp`; default 128. */
    readonly diskMiB?: number;
    /** Maximum number of processes of a job; default 128. */
    readonly processes?: number;
  };
  /** Source of the images that jobs name. */
  readonly images?: ImageSource;
}

const DEFAULTS = {
  minProcesses: 0,
  idleMs: 60_000,
  startTimeoutMs: 60_000,
  queueTimeoutMs: 30_000,
  maxQueued: 10_000,
  maxQueuedPerTenant: 2_000,
} satisfies SandboxOptions;

/**
 * Maximum numbers of jobs of a process at the same time: in total, and of jobs that do not wait for a host call.
 */
const JOB_LIMITS_PER_PROCESS = { maxJobsPerProcess: 64, maxRunnableJobs: 4 };

/** A process that reaches one of these limits is replaced. */
const RECYCLE_LIMITS = { jobs: 20_000, ageMs: 600_000, rssMiB: 512 };

const MIN_VALUES: Readonly<Record<string, number>> = { maxProcesses: 1, idleMs: 1, startTimeoutMs: 1 };

/**
 * Returns the options of the pool, with defaults. `paths`: the names of options in error messages, if they differ, such
 * as `python.maxProcesses`.
 * @throws SandboxError INVALID_OPTION.
 */
export function resolveOptions(options: SandboxOptions, paths: Readonly<Record<string, string>> = {}) {
  const numericOptions = { maxProcesses: availableParallelism(), ...DEFAULTS };
  for (const name of Object.keys(numericOptions) as (keyof typeof numericOptions)[]) {
    const value = options[name];
    if (value === undefined) continue;
    const min = MIN_VALUES[name] ?? 0;
    if (!Number.isInteger(value) || value < min) {
      throw new SandboxError(
        'INVALID_OPTION',
        `The sandbox option ${paths[name] ?? name} is ${String(value)}; it must be a whole number of at least ${min}.`,
      );
    }
    numericOptions[name] = value;
  }
  if (options.share !== undefined && !SHARE_MODES.includes(options.share))
    throw new SandboxError(
      'INVALID_OPTION',
      `The sandbox option share is ${String(options.share)}; it must be one of: ${SHARE_MODES.join(', ')}.`,
    );
  return {
    ...numericOptions,
    ...JOB_LIMITS_PER_PROCESS,
    recycle: { ...RECYCLE_LIMITS, ...options.recycle },
    execPath: options.execPath ?? process.execPath,
  };
}

/**
 * Returns the options of the Python pool. Python has its own process counts and recycling limits; all other options
 * are shared with JavaScript.
 * @throws SandboxError INVALID_OPTION.
 */
export function resolvePythonOptions(options: SandboxOptions) {
  const { recycle, maxProcesses = availableParallelism(), minProcesses = 0 } = options.python ?? {};
  return {
    ...resolveOptions(
      { ...options, maxProcesses, minProcesses },
      { maxProcesses: 'python.maxProcesses', minProcesses: 'python.minProcesses' },
    ),
    // Python blocks its thread while it waits for a host call, so a process serves one job at a time.
    maxRunnableJobs: 1,
    maxJobsPerProcess: 1,
    recycle: { jobs: 500, ageMs: 600_000, rssMiB: 420, ...recycle },
  };
}
