/** Why a request failed. */
export type EgressErrorCode =
  | 'EGRESS_DENIED'
  | 'EGRESS_TIMEOUT'
  | 'EGRESS_TOO_LARGE'
  | 'EGRESS_FAILED'
  | 'EGRESS_ABORTED';

const BRAND = Symbol.for('heddle.EgressError');

/** Thrown by the egress client. The message names the host, and the option to change if there is one. */
export class EgressError extends Error {
  override readonly name = 'EgressError';
  readonly code: EgressErrorCode;
  readonly [BRAND] = true;

  constructor(code: EgressErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Returns whether a caught value is an EgressError, including one from another copy of this package. */
export function isEgressError(value: unknown): value is EgressError {
  return typeof value === 'object' && value !== null && BRAND in value;
}

export function deniedError(message: string): EgressError {
  return new EgressError('EGRESS_DENIED', message);
}
