import type { LoadedImage } from '../images/source.ts';
import type { PoolOptions } from './options.ts';
import type { Slot } from './slot.ts';

/** How much larger a process is with an image, in MiB: its files are in memory as they are, and once more where they are used. */
function roomOf(image: LoadedImage | null): number {
  let bytes = 0;
  for (const { size } of Object.values(image?.blobs ?? {})) bytes += size;
  return Math.ceil((2 * bytes) / 2 ** 20);
}

type Worn = Pick<Slot, 'served' | 'rssMiB' | 'startedAtMs' | 'image'>;

/** Whether a process has served so many jobs, lived so long or grown so large that it is replaced. */
export function isWorn(
  { served, rssMiB, startedAtMs, image }: Worn,
  most: PoolOptions['recycle'],
  nowMs = performance.now(),
): boolean {
  return served >= most.jobs || rssMiB >= most.rssMiB + roomOf(image) || nowMs - startedAtMs >= most.ageMs;
}
