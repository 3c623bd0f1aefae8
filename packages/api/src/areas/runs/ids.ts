import { EngineError, isEngineError } from '@heddle/core';
import type { Json } from '@heddle/core';
import type { ExecuteOptions } from '@heddle/engine';

/** The two ids of a run. */
export interface RunIds {
  /** The engine's id, unique over all workspaces. */
  engineId: string;
  /** The id that the caller chose, else the engine's; unique within the workspace. */
  runId: string;
}

/** Returns the ids as options of the engine. */
export function engineIds({ engineId, runId }: RunIds): Pick<ExecuteOptions, 'runId' | 'callerId'> {
  return engineId === runId ? { runId } : { runId: engineId, callerId: runId };
}

/** Runs `work`. In engine errors that it throws, the caller's run id replaces the engine's. */
export async function withCallerId<T>(ids: RunIds, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (ids.engineId === ids.runId || !isEngineError(error)) throw error;
    const { code, message, details } = error;
    const options =
      details === undefined
        ? {}
        : { details: JSON.parse(replaceEngineId(ids, JSON.stringify(details))) as Json };
    throw new EngineError(code, replaceEngineId(ids, message), { ...options, cause: error });
  }
}

/** Returns the text with the caller's run id in place of the engine's. */
export function replaceEngineId({ engineId, runId }: RunIds, text: string): string {
  return text.replaceAll(engineId, runId);
}
