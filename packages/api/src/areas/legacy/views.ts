import { isJsonObject } from '@heddle/core/blocks';
import { valid } from '../../http/parse.ts';
import { executeBody } from '../runs/schemas.ts';
import type { ExecuteBody, RunResult } from '../runs/schemas.ts';

/** What an older request asks for by its headers. */
export function modesOf(headers: Headers): { isAsync: boolean; isStream: boolean } {
  const isAsync = headers.get('x-execution-mode')?.toLowerCase() === 'async';
  return { isAsync, isStream: headers.get('x-stream-response')?.toLowerCase() === 'true' };
}

/** What of an older request's body is asked for. */
export function bodyOf(
  body: { [key: string]: unknown },
  { isAsync, isStream }: { isAsync: boolean; isStream: boolean },
): ExecuteBody {
  const { stream, selectedOutputs, input, ...rest } = body;
  const given = isJsonObject(input)
    ? { ...rest, ...input }
    : { ...rest, ...(input !== undefined && { input }) };
  const more = {
    ...((isStream || stream === true) && { stream: true }),
    ...(selectedOutputs !== undefined && { selectedOutputs }),
  };
  return valid(executeBody, { input: given, async: isAsync, ...more }, 'Invalid request body');
}

export function executedOf(result: RunResult) {
  const { runId, status, output, error, durationMs, startedAt, endedAt } = result;
  return {
    success: status === 'completed' || status === 'paused',
    executionId: runId,
    output,
    error: error?.message ?? null,
    metadata: { duration: durationMs, startTime: startedAt, endTime: endedAt },
  };
}
