/** Faults of the caller, thrown; faults of user code are outcomes (`SandboxFailure`) and never thrown. */
export type SandboxFaultCode =
  | 'INVALID_OPTION'
  | 'INVALID_JOB'
  | 'NOT_BUILT'
  /** No user id is left for another process. */
  | 'SLOTS_EXHAUSTED'
  /** Sources of images say so of the image that a job names; the sandbox makes failures of the job of them. */
  | 'IMAGE_NOT_FOUND'
  | 'IMAGE_NOT_READY'
  | 'IMAGE_FAILED'
  | 'IMAGES_CLOSED';

const BRAND = Symbol.for('heddle.SandboxError');

/** Thrown for a wrong option or job description: the caller has to change the call. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly code: SandboxFaultCode;
  readonly [BRAND] = true;

  constructor(code: SandboxFaultCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** Whether a caught value is a SandboxError, also one of another copy of this package. */
export function isSandboxError(value: unknown): value is SandboxError {
  return typeof value === 'object' && value !== null && BRAND in value;
}
