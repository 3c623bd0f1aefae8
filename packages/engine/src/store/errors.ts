import { EngineError, InvariantError } from '@heddle/core';

/** Returns the error RUN_NOT_FOUND for a write to a run that does not exist. */
export function unknownRunError(runId: string): EngineError {
  return new EngineError(
    'RUN_NOT_FOUND',
    `There is no run "${runId}" in this store. Create it before writing to it.`,
  );
}

/** Returns the error for an entry whose number already exists: two writers drive one run. */
export function duplicateEntryError(runId: string): InvariantError {
  return new InvariantError(`an entry of the journal of run "${runId}" was written twice`);
}

/**
 * Returns the value of stored JSON text. Throws JOURNAL_CORRUPT, with `label` in the message, for text that is not
 * JSON.
 */
export function parseStoredJson<T>(text: string, label: string): T {
  try {
    return JSON.parse(text) as T;
  } catch (error) {
    throw new EngineError(
      'JOURNAL_CORRUPT',
      `The stored ${label} is corrupt: it is not JSON. Restore the store from a backup.`,
      { cause: error },
    );
  }
}

/** Returns the error for a deployment whose plan is not stored. */
export function unknownPlanError(workflowId: string, planHash: string): InvariantError {
  return new InvariantError(`workflow "${workflowId}" was deployed before its plan ${planHash} was stored`);
}
