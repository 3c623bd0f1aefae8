import { UsageError } from './usage-error.ts';

/** What `orElsewhere` gives when another process runs the folder. */
export const ELSEWHERE = Symbol('another process runs the folder');

/**
 * What `use` gives, or ELSEWHERE when the data folder is run by another process alone. Throws a usage error when the run,
 * or the folder, is Temporal's. For commands that move runs of one process.
 */
export async function orElsewhere<T>(use: () => Promise<T>): Promise<T | typeof ELSEWHERE> {
  try {
    return await use();
  } catch (error) {
    const code = codeOf(error);
    if (code === 'RUN_ELSEWHERE' || (code === 'DATA_LOCKED' && isShared(error))) throw onTemporal();
    if (code === 'DATA_LOCKED') return ELSEWHERE;
    throw error;
  }
}

/** Nobody who shares a folder looks at what visitors ask for: their runs are moved through the server. */
function onTemporal(): UsageError {
  return new UsageError(
    'Temporal has this run, or processes that share the data folder have it.',
    'Say which server: --runtime temporal --address HOST:PORT',
  );
}

function isShared(error: unknown): boolean {
  return (error as { details?: { shared?: unknown } }).details?.shared === true;
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined;
}
