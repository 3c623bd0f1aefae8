import { setFlagsFromString } from 'node:v8';
import type { ExternalCopy } from 'isolated-vm';
import { CONTEXT_FLAGS, OWN_SNAPSHOT_FLAGS } from './context-flags.ts';
import { ImageBundle, Isolates } from './isolates.ts';
import type { IsolatedVm } from './realms.ts';
import { serve } from './serve.ts';

declare const GUEST_SOURCE: string;
declare const GUEST_CHUNKS: Readonly<Record<string, string>>;
declare const require: (file: string) => { ivm: IsolatedVm };

/** Runs once in a temporary context, so that the snapshot contains the compiled code of these globals. */
const WARM_UP =
  '__heddle(() => undefined)("run", "function", 0, 1, "return [Buffer, Event, fetch, crypto]", 0)';

const vm = require(process.argv[2] as string).ivm;

const createExternalCopy = ({ buffer, byteOffset, byteLength }: Uint8Array): ExternalCopy<ArrayBuffer> =>
  new vm.ExternalCopy(buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);

serve(({ snapshot, memoryMiB, image }) => {
  let newSnapshot: Uint8Array | undefined;
  let snapshotCopy: ExternalCopy<ArrayBuffer>;
  if (image?.kind === 'snapshot') snapshotCopy = createExternalCopy(image.snapshot);
  else if (snapshot === null) {
    snapshotCopy = vm.Isolate.createSnapshot([{ code: GUEST_SOURCE }], WARM_UP);
    newSnapshot = new Uint8Array(snapshotCopy.copy());
  } else snapshotCopy = createExternalCopy(snapshot);
  // Snapshots of images were made with another hash seed.
  const flags = image?.kind === 'snapshot' ? CONTEXT_FLAGS : [...CONTEXT_FLAGS, ...OWN_SNAPSHOT_FLAGS];
  for (const flag of flags) setFlagsFromString(flag);
  const bundle = image?.kind === 'bundle' ? new ImageBundle(vm, image.code, image.cache) : undefined;
  const chunks = new Map(Object.entries(GUEST_CHUNKS));
  const isolates = new Isolates({ vm, snapshot: snapshotCopy, bundle, chunks }, memoryMiB);
  isolates.prepare();
  return { realms: isolates, snapshot: newSnapshot };
});
