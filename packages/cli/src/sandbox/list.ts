import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { styleFor } from '../render/style.ts';
import { withImages } from './open-images.ts';
import { listLines } from './record-lines.ts';

/** Shows the images of a folder. */
export async function list(io: Io, options: { images: string; json: boolean }): Promise<number> {
  const records = await withImages(options.images, (images) => images.list());
  if (options.json) writeJson(io, { data: records });
  else io.stdout.write(`${listLines(records, styleFor(io.stdout)).join('\n')}\n`);
  return EXIT.completed;
}
