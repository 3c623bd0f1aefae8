import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { SandboxError } from './error.ts';
import type { StartupPackages } from './protocol.ts';
import type { ImageBlob, LoadedImage } from './image.ts';

/** Reads a file and verifies the digest of the bytes read, so that a concurrent change to the file cannot reach V8. */
async function readVerifiedFile(name: string, blob: ImageBlob | undefined, id: string): Promise<Buffer> {
  // A missing file is reported like a modified one.
  const data = blob && (await readFile(blob.path).catch(() => undefined));
  if (data === undefined || createHash('sha256').update(data).digest('hex') !== blob?.sha256)
    throw new SandboxError(
      'IMAGE_FAILED',
      `The file ${name} of the image "${id}" does not match its stored digest.`,
    );
  return data;
}

/** Returns the packages of an image in the form in which processes load them. */
async function readPackages({ id, blobs }: LoadedImage): Promise<StartupPackages> {
  const snapshot = blobs['snapshot.bin'];
  if (snapshot !== undefined)
    return { kind: 'snapshot', snapshot: await readVerifiedFile('snapshot.bin', snapshot, id) };
  const code = await readVerifiedFile('bundle.js', blobs['bundle.js'], id);
  const cache = await readVerifiedFile('code-cache.bin', blobs['code-cache.bin'], id);
  return { kind: 'bundle', code: code.toString(), cache };
}

const MAX_IMAGES = 4;

/** Caches the packages of recently used images for the processes that start with them. */
export class StartupPackageCache {
  /** By image id, the least recently used first. */
  readonly #recentPackages = new Map<string, Promise<StartupPackages>>();
  readonly #loadedPackages = new WeakMap<LoadedImage, StartupPackages>();

  /** Reads an image's packages. Throws SandboxError IMAGE_FAILED if a file was modified. */
  async load(image: LoadedImage): Promise<void> {
    const packagesPromise = this.#recentPackages.get(image.id) ?? readPackages(image);
    this.#recentPackages.delete(image.id);
    this.#recentPackages.set(image.id, packagesPromise);
    const [oldestId] = this.#recentPackages.keys();
    if (oldestId !== undefined && this.#recentPackages.size > MAX_IMAGES)
      this.#recentPackages.delete(oldestId);
    try {
      this.#loadedPackages.set(image, await packagesPromise);
    } catch (error) {
      this.#recentPackages.delete(image.id);
      throw error;
    }
  }

  /** Returns the packages of a loaded image. */
  get(image: LoadedImage): StartupPackages | undefined {
    return this.#loadedPackages.get(image);
  }
}
