import { isEngineError } from '@heddle/core';
import type { EngineError, EngineErrorCode } from '@heddle/core';
import { ApiError, badRequest, conflict, isApiError, notFound, unavailable } from './errors.ts';

type Convert = (error: EngineError) => ApiError;

const asBad: Convert = (error) => badRequest(error.message);
const asConflict: Convert = (error) => conflict(error.message);
const asUnavailable: Convert = () => unavailable();

/** What the engine's refusals are over HTTP. A code that is not here is a fault of ours. */
const CONVERSIONS: Partial<Record<EngineErrorCode, Convert>> = {
  WORKFLOW_INVALID: (error) => new ApiError(400, error.message, { details: error.details ?? null }),
  WORKFLOW_NOT_FOUND: () => notFound('Workflow'),
  RUN_NOT_FOUND: () => notFound('Run'),
  RUN_ENDED: asConflict,
  RUN_ELSEWHERE: asConflict,
  RUN_NOT_SETTLED: asConflict,
  RESUME_POINT_NOT_FOUND: () => notFound('Pause point'),
  RESUME_POINT_CLOSED: asConflict,
  RESUME_INPUT_INVALID: asBad,
  BLOCK_NOT_FOUND: asBad,
  BLOCK_NOT_RESTARTABLE: asBad,
  START_NOT_FOUND: asBad,
  INPUT_INVALID: asBad,
  OPTIONS_INVALID: asBad,
  ENV_MISSING: asConflict,
  ENVIRONMENT_UNAVAILABLE: asUnavailable,
  DATA_UNREACHABLE: asUnavailable,
  DATA_UNWRITABLE: asUnavailable,
  RUNTIME_UNREACHABLE: asUnavailable,
  ENGINE_CLOSED: asUnavailable,
};

/** The refusal that `error` is for a caller; undefined: a fault of ours. */
export function refusalOf(error: unknown): ApiError | undefined {
  if (isApiError(error)) return error;
  return isEngineError(error) ? CONVERSIONS[error.code]?.(error) : undefined;
}

/** True when the engine refused because a run has this id already. */
export function isRunIdTaken(error: unknown): boolean {
  return isEngineError(error) && error.code === 'RUN_ID_TAKEN';
}

/** True when the engine has no run with this id. */
export function isRunNotFound(error: unknown): boolean {
  return isEngineError(error) && error.code === 'RUN_NOT_FOUND';
}
