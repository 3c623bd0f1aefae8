/**
 * Flags that disable features of V8 that the guest runtime would otherwise remove from each new context. They are set
 * after a snapshot is made. V8 ignores unknown names. V8 also adds the classes of `using` and Float16Array to each
 * context, which takes a tenth of its creation time. They are not disabled, because snapshots do not contain them, so
 * user code could not use them.
 */
export const CONTEXT_FLAGS = [
  '--enable-sharedarraybuffer-per-context',
  '--no-experimental-wasm-jspi',
  '--no-js-atomics-pause',
];

/**
 * Flags for snapshots made by processes of this supervisor. These processes start with the same hash seed, so rehashing
 * is unnecessary.
 */
export const OWN_SNAPSHOT_FLAGS = ['--no-rehash-snapshot'];
