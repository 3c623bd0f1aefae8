import type { Json } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import { valid } from '../../http/parse.ts';
import { executeBody } from '../runs/schemas.ts';
import type { ExecuteBody, RunResult } from '../runs/schemas.ts';

const TIMED_OUT = 408;
const LOWEST_STATUS = 200;
const HIGHEST_STATUS = 599;
/** Statuses that a response with a body cannot have. */
const WITHOUT_BODY = new Set([204, 205, 304]);

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

/** The answer of a run: what its Response block says, else what has come of it. */
export function answerOf(result: RunResult): Response {
  const fromBlock = responseOf(result);
  if (fromBlock) return fromBlock;
  const status = result.error?.code === 'TIMEOUT' ? TIMED_OUT : 200;
  return Response.json(executedOf(result), { status });
}

/** Status, headers and data of a Response block, when the run's output is one. */
function responseOf({ status: runStatus, output }: RunResult): Response | undefined {
  if (runStatus !== 'completed' || !isJsonObject(output)) return undefined;
  const { data, status, headers, ...more } = output as { [key: string]: Json };
  const shaped = data !== undefined && typeof status === 'number' && isJsonObject(headers);
  if (!shaped || Object.keys(more).length > 0) return undefined;
  const usable = status >= LOWEST_STATUS && status <= HIGHEST_STATUS && !WITHOUT_BODY.has(status);
  const response = Response.json(data, { status: usable ? status : 200 });
  for (const [name, value] of Object.entries(headers)) setHeader(response.headers, name, value);
  return response;
}

/** A header that no response can have is left out: the data still arrive. */
function setHeader(headers: Headers, name: string, value: Json | undefined): void {
  if (typeof value !== 'string') return;
  try {
    headers.set(name, value);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
}
