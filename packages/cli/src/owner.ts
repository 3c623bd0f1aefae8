/** What `asOwner` gives when another process runs the folder. */
export const ELSEWHERE = Symbol('another process runs the folder');

/** What `use` gives, or ELSEWHERE when the data folder is run by another process. */
export async function orElsewhere<T>(use: () => Promise<T>): Promise<T | typeof ELSEWHERE> {
  try {
    return await use();
  } catch (error) {
    if (isLocked(error)) return ELSEWHERE;
    throw error;
  }
}

function isLocked(error: unknown): boolean {
  return typeof error === 'object' && error !== null && (error as { code?: unknown }).code === 'DATA_LOCKED';
}
