import type { Json } from './json.ts';

const BRAND = Symbol.for('heddle.error');

/** Codes of errors that the caller of an API can act on. docs/errors.md has a heading for each. */
export type EngineErrorCode =
  | 'WORKFLOW_INVALID'
  | 'WORKFLOW_NOT_FOUND'
  | 'RUN_NOT_FOUND'
  | 'RUN_ID_TAKEN'
  | 'RUN_ENDED'
  | 'RUN_ELSEWHERE'
  | 'RUN_NOT_SETTLED'
  | 'RESUME_POINT_NOT_FOUND'
  | 'RESUME_POINT_CLOSED'
  | 'RESUME_INPUT_INVALID'
  | 'BLOCK_NOT_FOUND'
  | 'BLOCK_NOT_RESTARTABLE'
  | 'START_NOT_FOUND'
  | 'INPUT_INVALID'
  | 'ENV_MISSING'
  | 'ENVIRONMENT_UNAVAILABLE'
  | 'DATA_LOCKED'
  | 'DATA_UNREACHABLE'
  | 'DATA_UNWRITABLE'
  | 'DATA_FORMAT_UNSUPPORTED'
  | 'PLAN_FORMAT_UNSUPPORTED'
  | 'JOURNAL_CORRUPT'
  | 'VALUE_MISSING'
  | 'RUNTIME_UNREACHABLE'
  | 'ENGINE_CLOSED'
  | 'OPTIONS_INVALID'
  | 'OPENAPI_INVALID'
  | 'EXECUTOR_DUPLICATE'
  | 'ISOLATION_TOO_LOW';

/** An error that the caller can act on. Its message names the problem, the object, and what to do. */
export class EngineError extends Error {
  readonly [BRAND] = 'engine';
  readonly code: EngineErrorCode;
  readonly details: Json | undefined;

  constructor(code: EngineErrorCode, message: string, options: { details?: Json; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'EngineError';
    this.code = code;
    this.details = options.details;
  }
}

/** A broken invariant: a bug in Heddle, never the user's mistake. */
export class InvariantError extends Error {
  readonly [BRAND] = 'invariant';

  constructor(message: string) {
    super(`Heddle is in a state that should not exist: ${message}. Please report this.`);
    this.name = 'InvariantError';
  }
}

/** Returns the error JOURNAL_CORRUPT for a run. `problem` continues "is corrupt:". */
export function journalCorruptError(runId: string, problem: string, cause?: unknown): EngineError {
  return new EngineError(
    'JOURNAL_CORRUPT',
    `The journal of run "${runId}" is corrupt: ${problem}. The run cannot continue; start it again, or restore the store from a backup.`,
    { details: { runId }, cause },
  );
}

/** Codes of block failures. Custom executors may use their own codes (upper case, underscores). */
export type BlockErrorCode =
  | 'BLOCK_FAILED'
  | 'BLOCK_TIMEOUT'
  | 'BLOCK_TYPE_UNKNOWN'
  | 'BLOCK_CONFIG_INVALID'
  | 'REFERENCE_UNRESOLVED'
  | 'CONDITION_INVALID'
  | 'EXPRESSION_FAILED'
  | 'COLLECTION_INVALID'
  | 'COUNT_INVALID'
  | 'LOOP_LIMIT'
  | 'BRANCH_LIMIT'
  | 'VARIABLE_INVALID'
  | 'WAIT_INVALID'
  | 'HTTP_FAILED'
  | 'SERVICE_FAILED'
  | 'CHILD_FAILED'
  | 'CHILD_NOT_FOUND'
  | 'CHILD_DEPTH'
  | 'CHILD_CYCLE'
  | 'LANGUAGE_UNSUPPORTED'
  | 'STEP_OUTCOME_UNKNOWN'
  | 'CANCELLED'
  | (string & {});

/** The failure of a block, thrown by its executor. It goes to the error port, or becomes the run's error. */
export class BlockError extends Error {
  readonly [BRAND] = 'block';
  readonly code: BlockErrorCode;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly details: Json | undefined;

  constructor(
    code: BlockErrorCode,
    message: string,
    options: { retryable?: boolean; retryAfterMs?: number; details?: Json; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'BlockError';
    this.code = code;
    this.retryable = options.retryable ?? true;
    this.retryAfterMs = options.retryAfterMs;
    this.details = options.details;
  }
}

function hasBrand(value: unknown, brand: string): boolean {
  return typeof value === 'object' && value !== null && (value as { [BRAND]?: string })[BRAND] === brand;
}

/** Returns true for an EngineError, even of another copy of this package. */
export function isEngineError(value: unknown): value is EngineError {
  return hasBrand(value, 'engine');
}

/** Returns true for a BlockError, even of another copy of this package. */
export function isBlockError(value: unknown): value is BlockError {
  return hasBrand(value, 'block');
}
