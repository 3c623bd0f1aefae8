import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ImageSource, IsolationLevel } from '@heddle/sandbox';
import type { Images } from '@heddle/images';
import { lazy } from './lazy.ts';

/** The images for blocks that name one (`sandboxId`). Close them after the engine or worker that runs the blocks. */
export interface BlockImages extends ImageSource {
  /** Opens the image store of the data folder, and creates it if it is missing. */
  store(): Promise<Images>;
  close(): Promise<void>;
}

/** Returns the folder of images in a data folder: the default of `heddle sandbox`. */
export const imagesFolder = (data: string): string => join(data, 'images');

/** True if a folder contains images. */
export const hasImages = (folder: string): boolean => existsSync(join(folder, 'images.db'));

/** Returns the images of a data folder. Most runs need none, so the first block that names one opens them. */
export function blockImages(data: string, isolation: IsolationLevel | undefined): BlockImages {
  const folder = imagesFolder(data);
  const images = lazy(async () => {
    const { openImages } = await import('./sandbox/open-images.ts');
    return openImages({ images: folder, ...(isolation !== undefined && { isolation }) });
  });
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
    close: () => images.close(),
  };
}
