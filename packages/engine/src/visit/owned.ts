import { existsSync } from 'node:fs';
import { isEngineError } from '@heddle/core';
import type { Clock } from '@heddle/core';
import { lockData } from '../store/lock.ts';

/** True while a process runs the data folder. Must not be asked in that process itself: looking would drop its lock. */
export function isOwned(data: string, clock: Clock): boolean {
  if (!existsSync(data)) return false;
  try {
    lockData(data, clock).release();
    return false;
  } catch (error) {
    if (!isEngineError(error)) throw error;
    // A folder that cannot be written to can be read, but nobody runs it.
    return error.code === 'DATA_LOCKED';
  }
}
