import { UsageError } from './usage-error.ts';

/** What `orElsewhere` gives when another process runs the folder. */
export const ELSEWHERE = Symbol('another process runs the folder');

/** What `use` gives, or ELSEWHERE when the data folder is run by another process alone. Throws a usage error when others share it. */
export async function orElsewhere<T>(use: () => Promise<T>): Promise<T | typeof ELSEWHERE> {
  try {
    return await use();
  } catch (error) {
    if (!isLocked(error)) throw error;
    if (isShared(error)) throw sharedFolder();
    return ELSEWHERE;
  }
}

/** Nobody who shares a folder looks at what visitors ask for: their runs are moved through the server. */
function sharedFolder(): UsageError {
  return new UsageError(
    'The data folder is shared by processes that run it on Temporal.',
    'Say which server: --runtime temporal --address HOST:PORT',
  );
}

function isShared(error: unknown): boolean {
  return (error as { details?: { shared?: unknown } }).details?.shared === true;
}

function isLocked(error: unknown): boolean {
  return typeof error === 'object' && error !== null && (error as { code?: unknown }).code === 'DATA_LOCKED';
}
