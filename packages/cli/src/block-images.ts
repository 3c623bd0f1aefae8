import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ImageSource, IsolationLevel } from '@heddle/sandbox';
import type { Images } from '@heddle/images';
import { lazy } from './lazy.ts';
import { repeat } from './repeat.ts';
import type { RepeatFunction } from './repeat.ts';

const COLLECTION_INTERVAL_MS = 3_600_000;

interface CollectionOptions {
  /** Its unused images are released before each collection. */
  ownedImages?: Pick<OwnedImages, 'releaseUnused'> | undefined;
  repeat?: RepeatFunction;
}

/** Images for blocks that belong to an owner, such as the sandboxes of workspaces. */
export interface OwnedImages extends ImageSource {
  /** Removes the images that the owner does not need any more. */
  releaseUnused(): Promise<void>;
}

/** The images for blocks that name one (`sandboxId`). Close them after the engine or worker that runs the blocks. */
export interface BlockImages extends ImageSource {
  /** Opens the image store of the data folder, and creates it if it is missing. */
  store(): Promise<Images>;
  /**
   * Deletes unused images in the background, now and every hour, until `close`. Does not create the image folder.
   * `onError` gets the errors.
   */
  collectGarbageRepeatedly(onError: (error: unknown) => void, options?: CollectionOptions): void;
  close(): Promise<void>;
}

/** Returns the images folder in a data folder. `heddle sandbox` uses it by default. */
export const imagesFolder = (dataFolder: string): string => join(dataFolder, 'images');

/** True if a folder contains images. */
export const hasImages = (folder: string): boolean => existsSync(join(folder, 'images.db'));

/** Returns the images of a data folder. Most runs need none, so the first block that names one opens them. */
export function createBlockImages(dataFolder: string, isolation: IsolationLevel | undefined): BlockImages {
  const folder = imagesFolder(dataFolder);
  const images = lazy(async () => {
    const { openImages } = await import('./sandbox/open-images.ts');
    return openImages({ images: folder, ...(isolation !== undefined && { isolation }) });
  });
  let stopCollecting = (): void => undefined;
  let collection: Promise<void> | undefined;
  return {
    async open(id) {
      if (!hasImages(folder)) {
        const { SandboxError } = await import('@heddle/sandbox');
        const command = `heddle sandbox build SPEC --images ${folder}`;
        throw new SandboxError(
          'IMAGE_NOT_FOUND',
          `There is no image "${id}" in ${folder}. Build it with ${command}`,
        );
      }
      return (await images.get()).open(id);
    },
    store: () => images.get(),
    collectGarbageRepeatedly(onError, { ownedImages, ...options } = {}) {
      const collect = async (): Promise<void> => {
        if (!hasImages(folder)) return;
        await ownedImages?.releaseUnused().catch(onError);
        await (await images.get()).collectGarbage();
      };
      const startCollection = (): void => {
        collection ??= collect()
          .catch(onError)
          .finally(() => {
            collection = undefined;
          });
      };
      const repeatFunction = options.repeat ?? repeat;
      stopCollecting = repeatFunction(COLLECTION_INTERVAL_MS, startCollection);
      startCollection();
    },
    async close() {
      stopCollecting();
      await collection;
      await images.close();
    },
  };
}
