import { describe, expect, it } from 'vitest';
import type { LoadedImage } from '../image.ts';
import { recycleReason } from './recycle.ts';

const limits = { jobs: 10, rssMiB: 420, ageMs: 1_000 };
const fresh = { served: 9, rssMiB: 419, startedAtMs: 0, image: undefined };
const blob = { path: '/x', sha256: '', size: 30 * 2 ** 20 };
const image = { id: 'i', blobs: { 'site.zip': blob, 'memory.snap': blob } } as unknown as LoadedImage;

describe('a process', () => {
  it('is replaced at limits of jobs, age and memory', () => {
    expect(recycleReason(fresh, limits, 999)).toBeUndefined();
    expect(recycleReason({ ...fresh, served: 10 }, limits, 999)).toBe('jobs');
    expect(recycleReason({ ...fresh, rssMiB: 420 }, limits, 999)).toBe('memory');
    expect(recycleReason(fresh, limits, 1_000)).toBe('age');
  });

  it('may be larger by the size of its image', () => {
    expect(recycleReason({ ...fresh, rssMiB: 420, image }, limits, 0)).toBeUndefined();
    expect(recycleReason({ ...fresh, rssMiB: 540, image }, limits, 0)).toBe('memory');
  });
});
