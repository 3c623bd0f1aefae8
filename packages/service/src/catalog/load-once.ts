/**
 * Returns a function that loads a value at its first call, and returns the same value from then on. After a failure,
 * the next call loads the value again.
 */
export function loadOnce<T>(load: () => Promise<T>): () => Promise<T> {
  let promise: Promise<T> | undefined;
  return () =>
    (promise ??= load().catch((error: unknown) => {
      promise = undefined;
      throw error;
    }));
}
