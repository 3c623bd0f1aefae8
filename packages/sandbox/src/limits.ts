import { SandboxError } from './error.ts';

/** What one job may use. Sizes of text are counted in UTF-16 units, the unit in which V8 stores it. */
export interface Limits {
  /** Time spent inside the guest, over all entries, in milliseconds. */
  readonly cpuMs: number;
  /** Time from the first entry to the answer, in milliseconds; time lost to other jobs of the same process is not counted. */
  readonly wallMs: number;
  /** How long past `wallMs` a process may stay silent before it is killed, in milliseconds. */
  readonly killGraceMs: number;
  /** Heap of the job's isolate, in MiB: 8 to 256. Of Python, the memory of its interpreter. */
  readonly memoryMiB: number;
  readonly codeChars: number;
  /** All values and globals of a job together. */
  readonly inputChars: number;
  readonly resultChars: number;
  /** Console output; what exceeds it is cut and marked. */
  readonly stdoutChars: number;
  readonly logLines: number;
  readonly hostCalls: number;
  /** Timers that wait at the same time. */
  readonly timers: number;
  /** Messages from the guest, console output within its limit aside. */
  readonly messages: number;
  /** All text and bytes that cross the bridge after the start, in both directions. */
  readonly bridgeChars: number;
}

export const DEFAULT_LIMITS: Limits = {
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

/** What Python has beyond the defaults: its interpreter is some thirty times slower than V8 is at loops, and begins with 30 MiB. */
export const PYTHON_LIMITS = { cpuMs: 30_000, memoryMiB: 256 } as const satisfies Partial<Limits>;

/** Time of expressions (conditions, loop guards), which are meant to be short, in milliseconds. */
export const EXPRESSION_MS = 5_000;

/** The limits by default of expressions where `base` are those of functions. */
export function expressionLimits(base: Limits): Partial<Limits> {
  return { cpuMs: Math.min(base.cpuMs, EXPRESSION_MS), wallMs: Math.min(base.wallMs, EXPRESSION_MS) };
}

const RANGES: Partial<Record<keyof Limits, readonly [number, number]>> = {
  cpuMs: [1, 3_600_000],
  wallMs: [1, 3_600_000],
  killGraceMs: [10, 60_000],
  memoryMiB: [8, 256],
};

/**
 * The limits of one job: later layers win over earlier ones, absent fields fall through.
 * @throws SandboxError INVALID_OPTION when a limit is no whole number or out of its range.
 */
export function resolveLimits(...layers: readonly (Partial<Limits> | undefined)[]): Limits {
  const limits: { -readonly [K in keyof Limits]: number } = { ...DEFAULT_LIMITS };
  for (const layer of layers) {
    if (layer === undefined) continue;
    for (const name of Object.keys(DEFAULT_LIMITS) as (keyof Limits)[]) {
      const value = layer[name];
      if (value === undefined) continue;
      const [least, most] = RANGES[name] ?? [0, 2 ** 29];
      if (!Number.isFinite(value) || value < least || value > most) {
        throw new SandboxError(
          'INVALID_OPTION',
          `The sandbox limit ${name} is ${String(value)}; give a number from ${least} to ${most}.`,
        );
      }
      limits[name] = Math.ceil(value);
    }
  }
  return limits;
}
