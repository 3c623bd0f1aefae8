import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { ImageSource, IsolationLevel } from '@heddle/sandbox';
import { openedLater } from './opened-later.ts';

/** The images for blocks that name one (`sandboxId`). To be closed after what runs the blocks. */
export interface BlockImages extends ImageSource {
  close(): Promise<void>;
}

/** Where the images beside recorded runs are: what `heddle sandbox` keeps there by default. */
export const imagesFolder = (data: string): string => join(data, 'images');

/** Whether a folder has images at all. */
export const hasImages = (folder: string): boolean => existsSync(join(folder, 'images.db'));

/** The images in the data folder. They are opened for the first block that names one: most runs have none, and no folder is made. */
export function blockImages(data: string, isolation: IsolationLevel | undefined): BlockImages {
  const folder = imagesFolder(data);
  const images = openedLater(async () => {
    const { openImages } = await import('./sandbox/open-images.ts');
    return openImages({ images: folder, ...(isolation !== undefined && { isolation }) });
  });
  return {
    async open(id) {
      if (!hasImages(folder)) {
        const { SandboxError } = await import('@heddle/sandbox');
        const hint = `heddle sandbox build SPEC --images ${folder}`;
        throw new SandboxError(
          'IMAGE_NOT_FOUND',
          `There is no image "${id}" in ${folder}; ${hint} makes one.`,
        );
      }
      return (await images.get()).open(id);
    },
    close: () => images.close(),
  };
}
