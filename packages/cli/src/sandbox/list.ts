import { hasImages } from '../block-images.ts';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { safeLine, styleFor } from '../render/style.ts';
import { withImages } from './open-images.ts';
import { listLines } from './record-lines.ts';

/** Shows the images of a folder. */
export async function list(
  io: Io,
  { images: folder, json }: { images: string; json: boolean },
): Promise<number> {
  // Looking leaves no trace: a folder is made by who builds.
  const records = hasImages(folder) ? await withImages({ images: folder }, (images) => images.list()) : [];
  if (json) writeJson(io, { data: records });
  else if (records.length === 0) io.stdout.write(`There are no images in ${safeLine(folder)}.\n`);
  else io.stdout.write(`${listLines(records, styleFor(io.stdout)).join('\n')}\n`);
  return EXIT.completed;
}
