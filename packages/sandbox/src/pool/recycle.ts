import type { LoadedImage } from '../image.ts';
import type { EndReason } from './meter.ts';
import type { PoolOptions } from './options.ts';
import type { Slot } from './slot.ts';

/** Returns the additional memory of a process with an image, in MiB: files are in memory twice, raw and loaded. */
function imageMiB(image: LoadedImage | undefined): number {
  let bytes = 0;
  for (const { size } of Object.values(image?.blobs ?? {})) bytes += size;
  return Math.ceil((2 * bytes) / 2 ** 20);
}

type ProcessAge = Pick<Slot, 'served' | 'rssMiB' | 'startedAtMs' | 'image'>;

/** Returns which limit a process has reached, so that it has to be replaced; undefined if none. */
export function recycleReason(
  { served, rssMiB, startedAtMs, image }: ProcessAge,
  max: PoolOptions['recycle'],
  nowMs = performance.now(),
): Extract<EndReason, 'jobs' | 'age' | 'memory'> | undefined {
  if (served >= max.jobs) return 'jobs';
  if (nowMs - startedAtMs >= max.ageMs) return 'age';
  return rssMiB >= max.rssMiB + imageMiB(image) ? 'memory' : undefined;
}
