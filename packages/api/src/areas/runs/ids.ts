import { EngineError, isEngineError } from '@heddle/core';
import type { Json } from '@heddle/core';
import type { ExecuteOptions } from '@heddle/engine';

/** The two ids of a run. */
export interface RunIds {
  /** The engine's id, unique over all workspaces. */
  engineRunId: string;
  /** The id that the caller chose, else the engine's; unique within the workspace. */
  runId: string;
}

/** Returns the ids as options of the engine. */
export function runIdOptions({ engineRunId, runId }: RunIds): Pick<ExecuteOptions, 'runId' | 'callerId'> {
  return engineRunId === runId ? { runId } : { runId: engineRunId, callerId: runId };
}

/** Runs `work`. In engine errors that it throws, the caller's run id replaces the engine's. */
export async function withCallerRunId<T>(ids: RunIds, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (ids.engineRunId === ids.runId || !isEngineError(error)) throw error;
    const { code, message, details } = error;
    const options =
      details === undefined
        ? {}
        : { details: JSON.parse(replaceEngineRunId(ids, JSON.stringify(details))) as Json };
    throw new EngineError(code, replaceEngineRunId(ids, message), { ...options, cause: error });
  }
}

/** Returns the text with the caller's run id in place of the engine's. */
export function replaceEngineRunId({ engineRunId, runId }: RunIds, text: string): string {
  return text.replaceAll(engineRunId, runId);
}
