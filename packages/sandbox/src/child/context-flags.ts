/**
 * Flags that keep V8 from adding features to each fresh context that the guest runtime removes anyway. They are set
 * after a snapshot is made. V8 ignores unknown names. V8 also adds the classes of `using` and Float16Array to each
 * context, which takes a tenth of its creation time. No flag disables them: snapshots do not contain them, so they
 * would be missing.
 */
export const CONTEXT_FLAGS = [
  '--enable-sharedarraybuffer-per-context',
  '--no-experimental-wasm-jspi',
  '--no-js-atomics-pause',
];

/**
 * For snapshots made by processes of this supervisor: all get the same hash seed at start, so rehashing is unnecessary.
 */
export const OWN_SNAPSHOT_FLAGS = ['--no-rehash-snapshot'];
