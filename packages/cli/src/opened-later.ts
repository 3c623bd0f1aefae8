/** Something that is opened when it is first asked for, again after a failure, and closed where it was opened. */
export interface OpenedLater<T> {
  get(): Promise<T>;
  close(): Promise<void>;
}

/** Puts off opening what most commands never use. */
export function openedLater<T extends { close(): Promise<void> }>(open: () => Promise<T>): OpenedLater<T> {
  let opening: Promise<T> | undefined;
  return {
    get: () =>
      (opening ??= open().catch((error: unknown) => {
        opening = undefined;
        throw error;
      })),
    async close() {
      await (await opening)?.close();
    },
  };
}
