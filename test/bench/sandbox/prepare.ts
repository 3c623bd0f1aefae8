import { bubblewrap } from '../../support/bubblewrap.ts';
import type { Row } from '../rows.ts';
import { openImages, IMAGE_SPECS } from './images.ts';

/**
 * Prepares bubblewrap and images before the contenders start, and prints which images failed. For contenders that need
 * a failed image, the table shows the reason instead of figures.
 */
export async function prepareSandboxes(rows: readonly Row[], log: (text: string) => void): Promise<void> {
  if (rows.some(({ contender }) => contender === 'heddle-strict')) bubblewrap();
  const names = new Set(rows.flatMap(({ image }) => image ?? []));
  if (names.size === 0) return;
  const images = openImages();
  try {
    for (const name of names) {
      const onProgress = (step: string): void => log(`Image of ${name}: ${step}`);
      const { state, errorCode, errorMessage } = await images.build(IMAGE_SPECS[name], { name, onProgress });
      if (state !== 'ready') log(`The image of ${name} could not be built (${errorCode}): ${errorMessage}`);
    }
  } finally {
    await images.close();
  }
}
