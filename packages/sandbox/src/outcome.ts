/** Why a job gave no value; the list with its meaning is in README.md. */
export type SandboxErrorCode =
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

/** A failed job. `line` and `column` are 1-based and count in the code that was given. */
export interface SandboxFailure {
  readonly code: SandboxErrorCode;
  readonly name: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
  /** Frames of the user's code only. */
  readonly stack?: string;
  /** Whether the same job may succeed when it is run again: the fault was the sandbox's. */
  readonly retryable: boolean;
}

/** What every outcome tells, failed or not. */
export interface Usage {
  /** Console output so far, lines joined by newlines. */
  readonly stdout: string;
  readonly cpuMs: number;
  readonly wallMs: number;
}

export type FunctionOutcome =
  /** `json` is the JSON text of the value, `null` for undefined. */
  | ({ readonly ok: true; readonly json: string } & Usage)
  | ({ readonly ok: false; readonly error: SandboxFailure } & Usage);

export type ExpressionOutcome =
  /** first-true: `index` of the first truthy expression or -1, `json` of those evaluated; values: `json` of each. */
  | ({ readonly ok: true; readonly index: number; readonly json: string[] } & Usage)
  /** `index` is the expression that failed, -1 when the fault belongs to none. */
  | ({ readonly ok: false; readonly index: number; readonly error: SandboxFailure } & Usage);

const RETRYABLE: ReadonlySet<SandboxErrorCode> = new Set([
  'SANDBOX_CRASHED',
  'SANDBOX_BUSY',
  'SANDBOX_UNAVAILABLE',
]);

/** A failure that is the host's finding and not the guest's word. */
export function failure(code: SandboxErrorCode, message: string): SandboxFailure {
  return { code, name: 'SandboxError', message, retryable: RETRYABLE.has(code) };
}
