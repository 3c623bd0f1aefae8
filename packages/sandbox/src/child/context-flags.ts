/**
 * What V8 does for each fresh context of a snapshot and no guest needs: adding parts of what guests are not given anyway.
 * Snapshots are made before these are set. V8 passes over names that it does not know. It adds the classes of `using` and
 * Float16Array to each context too, which costs a tenth of it, but keeps none of them in snapshots: without them they are gone.
 */
export const CONTEXT_FLAGS = [
  '--enable-sharedarraybuffer-per-context',
  '--no-experimental-wasm-jspi',
  '--no-js-atomics-pause',
];

/** Of snapshots that the supervisor's processes made: hashing them anew is for nothing, since all get one seed at their start. */
export const OWN_SNAPSHOT_FLAGS = ['--no-rehash-snapshot'];
