import { isEngineError } from '@heddle/core';
import type { RunHeader, RunRecord } from '@heddle/core';
import { parseStoredJson } from './errors.ts';
import type { StoredChange } from './stores.ts';

/** A change as stored in a database, with the JSON of the run's header and record; null if there is none. */
export interface ChangeRow {
  position: number;
  run_id: string;
  header: string | null;
  record: string | null;
}

/** Returns the change of a row. */
export function toStoredChange({ position, run_id: runId, header, record }: ChangeRow): StoredChange {
  try {
    return {
      position,
      runId,
      ...(header !== null && { header: parseStoredJson<RunHeader>(header, `header of run "${runId}"`) }),
      ...(record !== null && { record: parseStoredJson<RunRecord>(record, `record of run "${runId}"`) }),
    };
  } catch (error) {
    if (!isEngineError(error)) throw error;
    return { position, runId, error };
  }
}
