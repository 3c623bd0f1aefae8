/** Codes of SandboxError. Failures of user code are returned as `SandboxFailure` and never thrown. */
export type SandboxErrorCode =
  | 'INVALID_OPTION'
  | 'INVALID_JOB'
  | 'NOT_BUILT'
  /** No user id is free for another process. */
  | 'SLOTS_EXHAUSTED'
  /** Thrown by image sources for the image that a job names; the sandbox turns these codes into failures of the job. */
  | 'IMAGE_NOT_FOUND'
  | 'IMAGE_NOT_READY'
  | 'IMAGE_FAILED'
  | 'IMAGES_CLOSED';

const BRAND = Symbol.for('heddle.SandboxError');

/** Thrown for an invalid option or job, or if a process or an image is not available; `code` says which. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly code: SandboxErrorCode;
  readonly [BRAND] = true;

  constructor(code: SandboxErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Returns whether a caught value is a SandboxError, including one from another copy of this package. */
export function isSandboxError(value: unknown): value is SandboxError {
  return typeof value === 'object' && value !== null && BRAND in value;
}
