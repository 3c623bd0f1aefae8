import { EngineError, isEngineError } from '@heddle/core';
import type { Json } from '@heddle/core';
import type { ExecuteOptions } from '@heddle/engine';

/** The two ids of a run. */
export interface RunIds {
  /** The engine's, unique over all workspaces. */
  engineId: string;
  /** The one by which its workspace knows it: the caller's, else the engine's. */
  runId: string;
}

/** The ids as the engine takes them. */
export function engineIds({ engineId, runId }: RunIds): Pick<ExecuteOptions, 'runId' | 'callerId'> {
  return engineId === runId ? { runId } : { runId: engineId, callerId: runId };
}

/** What `work` on the run gives; an error of the engine names the run by the id that its caller knows. */
export async function withCallerId<T>(ids: RunIds, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (ids.engineId === ids.runId || !isEngineError(error)) throw error;
    const { code, message, details } = error;
    const shown =
      details === undefined
        ? {}
        : { details: JSON.parse(withCallerIdIn(ids, JSON.stringify(details))) as Json };
    throw new EngineError(code, withCallerIdIn(ids, message), { ...shown, cause: error });
  }
}

/** The engine's text about the run, with the id that the caller knows. */
export function withCallerIdIn({ engineId, runId }: RunIds, text: string): string {
  return text.replaceAll(engineId, runId);
}
