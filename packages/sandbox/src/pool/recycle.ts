import type { LoadedImage } from '../image.ts';
import type { EndReason } from './meter.ts';
import type { PoolOptions } from './options.ts';
import type { Slot } from './slot.ts';

/** Returns how much larger a process is with an image, in MiB: its files are in memory once as files and once in use. */
function imageMiB(image: LoadedImage | undefined): number {
  let bytes = 0;
  for (const { size } of Object.values(image?.blobs ?? {})) bytes += size;
  return Math.ceil((2 * bytes) / 2 ** 20);
}

type ProcessAge = Pick<Slot, 'served' | 'rssMiB' | 'startedAtMs' | 'image'>;

/** Returns why a process has to be replaced: it reached its number of jobs, age or memory; undefined to keep it. */
export function recycleReason(
  { served, rssMiB, startedAtMs, image }: ProcessAge,
  max: PoolOptions['recycle'],
  nowMs = performance.now(),
): Extract<EndReason, 'jobs' | 'age' | 'memory'> | undefined {
  if (served >= max.jobs) return 'jobs';
  if (nowMs - startedAtMs >= max.ageMs) return 'age';
  return rssMiB >= max.rssMiB + imageMiB(image) ? 'memory' : undefined;
}
