import { SandboxError } from './error.ts';

/** Limits of one job. Text sizes are counted in UTF-16 code units, as V8 stores them. */
export interface JobLimits {
  /** CPU time of the job's code, in milliseconds. */
  readonly cpuMs: number;
  /**
   * Time from the start of the job's code to its result, in milliseconds. Time taken by other jobs of the same process
   * is not counted.
   */
  readonly wallMs: number;
  /** Time past `wallMs` after which a silent process is killed, in milliseconds. */
  readonly killGraceMs: number;
  /** Heap of the job's isolate in MiB, 8 to 256. For Python: the memory of its interpreter. */
  readonly memoryMiB: number;
  readonly codeChars: number;
  /** All values and globals of a job together. */
  readonly inputChars: number;
  readonly resultChars: number;
  /** Console output. Longer output is truncated, and a marker is appended. */
  readonly stdoutChars: number;
  readonly logLines: number;
  readonly hostCalls: number;
  /** Timers pending at the same time. */
  readonly timers: number;
  /** Messages from the guest, not counting console output within its limit. */
  readonly messages: number;
  /** All text and bytes that the code and the host exchange after the start, in both directions. */
  readonly bridgeChars: number;
}

export const DEFAULT_LIMITS: JobLimits = {
  cpuMs: 10_000,
  wallMs: 60_000,
  killGraceMs: 1_500,
  memoryMiB: 64,
  codeChars: 256 * 1024,
  inputChars: 4 * 1024 * 1024,
  resultChars: 4 * 1024 * 1024,
  stdoutChars: 256 * 1024,
  logLines: 10_000,
  hostCalls: 200,
  timers: 1_000,
  messages: 5_000,
  bridgeChars: 32 * 1024 * 1024,
};

/**
 * Where Python differs from the defaults: its interpreter runs loops about thirty times slower than V8 and uses 30 MiB
 * at start.
 */
export const PYTHON_LIMITS = { cpuMs: 30_000, memoryMiB: 256 } as const satisfies Partial<JobLimits>;

/** Time limit of expressions (conditions of blocks and loops), in milliseconds. */
export const EXPRESSION_LIMIT_MS = 5_000;

/** Returns the default limits of expressions if `base` are the limits of functions. */
export function expressionLimits(base: JobLimits): Partial<JobLimits> {
  return {
    cpuMs: Math.min(base.cpuMs, EXPRESSION_LIMIT_MS),
    wallMs: Math.min(base.wallMs, EXPRESSION_LIMIT_MS),
  };
}

const RANGES: Partial<Record<keyof JobLimits, readonly [number, number]>> = {
  cpuMs: [1, 3_600_000],
  wallMs: [1, 3_600_000],
  killGraceMs: [10, 60_000],
  memoryMiB: [8, 256],
};

/**
 * Returns the limits of one job: each limit is from the last layer that has it, or the default.
 * @throws SandboxError INVALID_OPTION if a limit is not a number or is out of range.
 */
export function resolveLimits(...layers: readonly (Partial<JobLimits> | undefined)[]): JobLimits {
  const limits: { -readonly [K in keyof JobLimits]: number } = { ...DEFAULT_LIMITS };
  for (const layer of layers) {
    if (layer === undefined) continue;
    for (const name of Object.keys(DEFAULT_LIMITS) as (keyof JobLimits)[]) {
      const value = layer[name];
      if (value === undefined) continue;
      const [min, max] = RANGES[name] ?? [0, 2 ** 29];
      if (!Number.isFinite(value) || value < min || value > max) {
        throw new SandboxError(
          'INVALID_OPTION',
          `The sandbox limit ${name} is ${String(value)}; give a number from ${min} to ${max}.`,
        );
      }
      limits[name] = Math.ceil(value);
    }
  }
  return limits;
}
