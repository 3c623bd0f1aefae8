import { setFlagsFromString } from 'node:v8';
import type { ExternalCopy } from 'isolated-vm';
import { Isolates } from './isolates.ts';
import type { IsolatedVm } from './realms.ts';
import { serve } from './serve.ts';

declare const GUEST_SOURCE: string;
declare const require: (file: string) => { ivm: IsolatedVm };

/** Run once in a context that is thrown away, so that the code behind these globals is in the snapshot compiled. */
const WARM_UP =
  '__heddle(() => undefined)("run", "function", 0, 1, "return [URL, Buffer, Event, fetch, crypto]", 0)';

/**
 * What V8 does for each fresh context and no guest needs: hashing the snapshot anew (it is made with the seed that all
 * processes get at their start), and parts of what guests are not given anyway. V8 passes over names that it does not know.
 */
const CONTEXT_FLAGS = [
  '--no-rehash-snapshot',
  '--enable-sharedarraybuffer-per-context',
  '--no-experimental-wasm-jspi',
  '--no-js-atomics-pause',
];

const vm = require(process.argv[2] as string).ivm;

serve(({ snapshot, memoryMiB }) => {
  let made: Uint8Array | null = null;
  let copy: ExternalCopy<ArrayBuffer>;
  if (snapshot === null) {
    copy = vm.Isolate.createSnapshot([{ code: GUEST_SOURCE }], WARM_UP);
    made = new Uint8Array(copy.copy());
  } else {
    const { buffer, byteOffset, byteLength } = snapshot;
    copy = new vm.ExternalCopy(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);
  }
  for (const flag of CONTEXT_FLAGS) setFlagsFromString(flag);
  const isolates = new Isolates(vm, copy, memoryMiB);
  isolates.prepare();
  return { realms: isolates, snapshot: made };
});
