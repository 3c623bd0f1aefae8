import { UsageError } from './usage-error.ts';

/** Result of `tryAsOwner` if another process owns the data folder. */
export const OTHER_PROCESS = Symbol('another process owns the folder');

/**
 * Calls `use`. Returns its result, or OTHER_PROCESS if another process owns the data folder exclusively. Throws a usage
 * error if the run or the folder belongs to Temporal.
 */
export async function tryAsOwner<T>(use: () => Promise<T>): Promise<T | typeof OTHER_PROCESS> {
  try {
    return await use();
  } catch (error) {
    const code = codeOf(error);
    if (code === 'RUN_ELSEWHERE' || (code === 'DATA_LOCKED' && isShared(error))) throw temporalError();
    if (code === 'DATA_LOCKED') return OTHER_PROCESS;
    throw error;
  }
}

/**
 * Returns the error for a run or a folder of Temporal. Processes that share a folder do not read the requests that
 * other commands leave in it: the Temporal server controls their runs.
 */
function temporalError(): UsageError {
  return new UsageError(
    'This run is on Temporal, or other processes share the data folder.',
    'Name the server: --runtime temporal --address HOST:PORT',
  );
}

function isShared(error: unknown): boolean {
  return (error as { details?: { shared?: unknown } }).details?.shared === true;
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined;
}
