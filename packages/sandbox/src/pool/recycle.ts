import type { LoadedImage } from '../image.ts';
import type { EndReason } from './meter.ts';
import type { PoolOptions } from './options.ts';
import type { Slot } from './slot.ts';

/** Returns how much larger a process is with an image, in MiB: its files are in memory once as files and once in use. */
function imageMiB(image: LoadedImage | null): number {
  let bytes = 0;
  for (const { size } of Object.values(image?.blobs ?? {})) bytes += size;
  return Math.ceil((2 * bytes) / 2 ** 20);
}

type ProcessAge = Pick<Slot, 'served' | 'rssMiB' | 'startedAtMs' | 'image'>;

/** Returns why a process is replaced: its number of jobs, age or memory has reached its limit; null if it is kept. */
export function recycleReason(
  { served, rssMiB, startedAtMs, image }: ProcessAge,
  most: PoolOptions['recycle'],
  nowMs = performance.now(),
): Extract<EndReason, 'jobs' | 'age' | 'memory'> | null {
  if (served >= most.jobs) return 'jobs';
  if (nowMs - startedAtMs >= most.ageMs) return 'age';
  return rssMiB >= most.rssMiB + imageMiB(image) ? 'memory' : null;
}
