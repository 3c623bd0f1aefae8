/** A resource that opens on first use. After a failure, the next use tries again. */
export interface Lazy<T> {
  get(): Promise<T>;
  close(): Promise<void>;
}

/** Defers opening a resource that most commands never use. `close` closes it if it was opened. */
export function lazy<T extends { close(): Promise<void> }>(open: () => Promise<T>): Lazy<T> {
  let opening: Promise<T> | undefined;
  return {
    get: () =>
      (opening ??= open().catch((error: unknown) => {
        opening = undefined;
        throw error;
      })),
    async close() {
      // The callers of `get` handle a failure to open.
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}
