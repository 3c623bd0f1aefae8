import { readFile } from 'node:fs/promises';
import { SandboxError } from '../../error.ts';
import type { ImageBoot } from '../../protocol.ts';
import { sha256 } from '../keys.ts';
import type { ImageBlob, LoadedImage } from '../source.ts';

/** What is read is what is checked: a file that changes between the two does not reach V8. */
async function read(name: string, blob: ImageBlob | undefined, id: string): Promise<Buffer> {
  // One that is gone is told like one that was changed.
  const data = blob === undefined ? null : await readFile(blob.path).catch(() => null);
  if (data === null || sha256(data) !== blob?.sha256)
    throw new SandboxError('IMAGE_FAILED', `The file ${name} of the image "${id}" is not what was stored.`);
  return data;
}

/** The packages of an image as its processes get them. */
async function readBoot({ id, blobs }: LoadedImage): Promise<ImageBoot> {
  const snapshot = blobs['snapshot.bin'];
  if (snapshot !== undefined) return { kind: 'snapshot', snapshot: await read('snapshot.bin', snapshot, id) };
  const code = await read('bundle.js', blobs['bundle.js'], id);
  const cache = await read('code-cache.bin', blobs['code-cache.bin'], id);
  return { kind: 'bundle', code: code.toString(), cache };
}

const MOST_KEPT = 4;

/** The packages of images that are in use, read once and kept for the processes that are started with them. */
export class Boots {
  /** By image id, in the order of their last use. */
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

  /** What was read of it. */
  of(image: LoadedImage): ImageBoot | undefined {
    return this.#loaded.get(image);
  }
}
