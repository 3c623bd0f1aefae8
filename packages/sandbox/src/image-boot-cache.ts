import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { SandboxError } from './error.ts';
import type { ImageBoot } from './protocol.ts';
import type { ImageBlob, LoadedImage } from './image.ts';

/** Reads a file and checks the bytes that were read, so that a file that changes in between does not reach V8. */
async function read(name: string, blob: ImageBlob | undefined, id: string): Promise<Buffer> {
  // A missing file is reported like a changed one.
  const data = blob === undefined ? null : await readFile(blob.path).catch(() => null);
  if (data === null || createHash('sha256').update(data).digest('hex') !== blob?.sha256)
    throw new SandboxError('IMAGE_FAILED', `The file ${name} of the image "${id}" is not what was stored.`);
  return data;
}

/** Returns the packages of an image in the form that processes start with. */
async function readBoot({ id, blobs }: LoadedImage): Promise<ImageBoot> {
  const snapshot = blobs['snapshot.bin'];
  if (snapshot !== undefined) return { kind: 'snapshot', snapshot: await read('snapshot.bin', snapshot, id) };
  const code = await read('bundle.js', blobs['bundle.js'], id);
  const cache = await read('code-cache.bin', blobs['code-cache.bin'], id);
  return { kind: 'bundle', code: code.toString(), cache };
}

const MOST_KEPT = 4;

/** Reads the packages of images once and caches them for the processes that start with them. */
export class ImageBootCache {
  /** By image id, the least recently used first. */
  readonly #kept = new Map<string, Promise<ImageBoot>>();
  readonly #loaded = new WeakMap<LoadedImage, ImageBoot>();

  /** Reads an image's packages. Throws SandboxError IMAGE_FAILED for a file that was changed. */
  async load(image: LoadedImage): Promise<void> {
    const reading = this.#kept.get(image.id) ?? readBoot(image);
    this.#kept.delete(image.id);
    this.#kept.set(image.id, reading);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size > MOST_KEPT) this.#kept.delete(oldest);
    try {
      this.#loaded.set(image, await reading);
    } catch (error) {
      this.#kept.delete(image.id);
      throw error;
    }
  }

  /** Returns the packages of a loaded image. */
  of(image: LoadedImage): ImageBoot | undefined {
    return this.#loaded.get(image);
  }
}
