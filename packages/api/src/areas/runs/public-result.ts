import type { Json } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import { refusalOf } from '../../engine-errors.ts';
import { ApiError, isApiError } from '../../errors.ts';
import type { ErrorStatus } from '../../errors.ts';
import type { RunErrorCode, RunResult } from './schemas.ts';

/** All that a caller without a credential learns of a failure: messages of the engine name blocks, values and addresses. */
const SENTENCES: { readonly [code in RunErrorCode]: string } = {
  TIMEOUT: 'The run took longer than it may.',
  CANCELLED: 'The run was cancelled.',
  USAGE_LIMIT_EXCEEDED: 'A usage limit is reached.',
  INVALID_INPUT: 'The workflow does not take this input.',
  BLOCK_EXECUTION_FAILED: 'A block of the workflow failed.',
  CHILD_WORKFLOW_FAILED: 'A workflow that this one calls failed.',
  EXECUTION_FAILED: 'The run failed.',
};

/** The result as a caller without a credential sees it: the workflow's answer, or that it failed. */
export function publicResult(result: RunResult): RunResult {
  const { status, output, error } = result;
  const answer = status === 'completed' ? withoutStdout(output as Json) : status === 'paused' ? null : {};
  return {
    ...result,
    output: answer,
    blockOutputs: null,
    error: error && { code: error.code, message: SENTENCES[error.code] },
  };
}

/** The output of a block without what its code has written to the console; so too those inside a container or of a child. */
export function withoutStdout(output: Json): Json {
  if (Array.isArray(output)) return output.map(withoutStdout);
  if (!isJsonObject(output)) return output;
  const { stdout: _console, ...shown } = output;
  if (Array.isArray(shown['results'])) shown['results'] = shown['results'].map(withoutStdout);
  if (Object.hasOwn(shown, 'childWorkflowId') && shown['result'] !== undefined)
    shown['result'] = withoutStdout(shown['result']);
  return shown;
}

const REFUSED: { readonly [status in ErrorStatus]?: string } = {
  400: SENTENCES.INVALID_INPUT,
  404: 'Workflow not found',
  409: 'The workflow cannot be run now.',
};

/** A refusal to run the workflow as a caller without a credential sees it: without the words of the engine, and no block named. */
export function publicRefusal(error: unknown): unknown {
  const refusal = refusalOf(error);
  if (!refusal || (isApiError(error) && refusal.status !== 400)) return error;
  const { status, message, headers } = refusal;
  const sentence = REFUSED[status] ?? (status === 503 ? message : SENTENCES.EXECUTION_FAILED);
  return new ApiError(status, sentence, { headers });
}
