import type { Json } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import { ApiError, isApiError, refusalOf } from '../../errors.ts';
import type { ErrorStatus } from '../../errors.ts';
import type { RunErrorCode, RunResult } from './schemas.ts';

/** Messages of failures for anonymous callers. Messages of the engine would reveal blocks, values and addresses. */
const FAILURE_MESSAGES: { readonly [code in RunErrorCode]: string } = {
  TIMEOUT: 'The run exceeded its time limit.',
  CANCELLED: 'The run was cancelled.',
  USAGE_LIMIT_EXCEEDED: 'A usage limit is reached.',
  INVALID_INPUT: 'The workflow does not take this input.',
  BLOCK_EXECUTION_FAILED: 'A block of the workflow failed.',
  CHILD_WORKFLOW_FAILED: 'A workflow that this one calls failed.',
  EXECUTION_FAILED: 'The run failed.',
};

/** Returns the result as an anonymous caller sees it: the output of a completed run, or a fixed error message. */
export function toPublicResult(result: RunResult): RunResult {
  const { status, output, error } = result;
  const visibleOutput =
    status === 'completed' ? withoutStdout(output as Json) : status === 'paused' ? null : {};
  return {
    ...result,
    output: visibleOutput,
    blockOutputs: null,
    error: error && { code: error.code, message: FAILURE_MESSAGES[error.code] },
  };
}

/** Returns the output of a block without its console output, including inside the results of a container or a child. */
export function withoutStdout(output: Json): Json {
  if (Array.isArray(output)) return output.map(withoutStdout);
  if (!isJsonObject(output)) return output;
  const { stdout: _stdout, ...visibleFields } = output;
  if (Array.isArray(visibleFields['results']))
    visibleFields['results'] = visibleFields['results'].map(withoutStdout);
  if (Object.hasOwn(visibleFields, 'childWorkflowId') && visibleFields['result'] !== undefined)
    visibleFields['result'] = withoutStdout(visibleFields['result']);
  return visibleFields;
}

const REFUSAL_MESSAGES: { readonly [status in ErrorStatus]?: string } = {
  400: FAILURE_MESSAGES.INVALID_INPUT,
  404: 'Workflow not found',
  409: 'The workflow cannot be run now.',
};

/**
 * Returns the error that an anonymous caller gets for `error`. For a 400 or a refusal of the engine, this is a fixed
 * message. Internal errors and other API errors are returned unchanged.
 */
export function toPublicRefusal(error: unknown): unknown {
  const refusal = refusalOf(error);
  if (!refusal || (isApiError(error) && refusal.status !== 400)) return error;
  const { status, message, headers } = refusal;
  const text = REFUSAL_MESSAGES[status] ?? (status === 503 ? message : FAILURE_MESSAGES.EXECUTION_FAILED);
  return new ApiError(status, text, { headers });
}
