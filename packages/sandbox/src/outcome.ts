/** Why a job failed. README.md explains each code. */
export type JobErrorCode =
  | 'SYNTAX_ERROR'
  | 'USER_ERROR'
  | 'RESULT_NOT_SERIALIZABLE'
  | 'RESULT_TOO_LARGE'
  | 'INPUT_TOO_LARGE'
  | 'TIMEOUT_CPU'
  | 'TIMEOUT_WALL'
  | 'OUT_OF_MEMORY'
  | 'BRIDGE_LIMIT'
  | 'MODULE_NOT_IN_IMAGE'
  | 'BUILTIN_NOT_AVAILABLE'
  | 'IMAGE_NOT_FOUND'
  | 'IMAGE_NOT_READY'
  | 'IMAGE_FAILED'
  | 'SANDBOX_CRASHED'
  | 'SANDBOX_PROTOCOL'
  | 'SANDBOX_BUSY'
  | 'SANDBOX_UNAVAILABLE'
  | 'CANCELLED';

/** The failure of a job. `line` and `column` are the position in the code of the job, from 1 on. */
export interface SandboxFailure {
  readonly code: JobErrorCode;
  readonly name: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
  /** Stack frames of user code only. */
  readonly stack?: string;
  /** True if the same job may succeed on a retry, because the sandbox caused the failure. */
  readonly retryable: boolean;
}

/** Part of every outcome, failed or not. */
export interface JobUsage {
  /** Console output, lines joined by newlines. */
  readonly stdout: string;
  readonly cpuMs: number;
  readonly wallMs: number;
}

export type FunctionOutcome =
  /** `json` is the JSON text of the value, `null` for undefined. */
  | ({ readonly ok: true; readonly json: string } & JobUsage)
  | ({ readonly ok: false; readonly error: SandboxFailure } & JobUsage);

export type ExpressionOutcome =
  /**
   * Mode `first-true`: `index` is that of the first truthy expression or -1, and `json` has the evaluated values. Mode
   * `values`: `json` has the values of all expressions, and `index` is -1.
   */
  | ({ readonly ok: true; readonly index: number; readonly json: string[] } & JobUsage)
  /** `index` of the failed expression; -1 if the failure belongs to none. */
  | ({ readonly ok: false; readonly index: number; readonly error: SandboxFailure } & JobUsage);

const RETRYABLE_CODES: ReadonlySet<JobErrorCode> = new Set([
  'SANDBOX_CRASHED',
  'SANDBOX_BUSY',
  'SANDBOX_UNAVAILABLE',
]);

/** Returns a failure that the host detected, as opposed to one that the guest reported. */
export function createFailure(code: JobErrorCode, message: string): SandboxFailure {
  return { code, name: 'SandboxError', message, retryable: RETRYABLE_CODES.has(code) };
}
