import type { LoadedImage } from '../images/source.ts';
import type { EndReason } from './meter.ts';
import type { PoolOptions } from './options.ts';
import type { Slot } from './slot.ts';

/** How much larger a process is with an image, in MiB: its files are in memory as they are, and once more where they are used. */
function roomOf(image: LoadedImage | null): number {
  let bytes = 0;
  for (const { size } of Object.values(image?.blobs ?? {})) bytes += size;
  return Math.ceil((2 * bytes) / 2 ** 20);
}

type Worn = Pick<Slot, 'served' | 'rssMiB' | 'startedAtMs' | 'image'>;

/** Why a process is replaced: it has served so many jobs, lived so long or grown so large; null: it is not. */
export function wearOf(
  { served, rssMiB, startedAtMs, image }: Worn,
  most: PoolOptions['recycle'],
  nowMs = performance.now(),
): Extract<EndReason, 'jobs' | 'age' | 'memory'> | null {
  if (served >= most.jobs) return 'jobs';
  if (nowMs - startedAtMs >= most.ageMs) return 'age';
  return rssMiB >= most.rssMiB + roomOf(image) ? 'memory' : null;
}
