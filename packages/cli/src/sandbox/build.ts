import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { styleFor } from '../render/style.ts';
import { recordLines } from './record-lines.ts';
import { withImages } from './open-images.ts';
import { buildFile } from './spec-file.ts';

export interface BuildOptions {
  images: string;
  refresh: boolean;
  json: boolean;
}

/** Builds the image of a spec file; 0 when it is ready, 1 when it failed. */
export async function build(
  io: Io,
  file: string,
  { images: folder, refresh, json }: BuildOptions,
): Promise<number> {
  const record = await withImages(folder, (images) => buildFile(io, images, file, { refresh, quiet: json }));
  if (json) writeJson(io, { data: record });
  else io.stdout.write(`${recordLines(record, styleFor(io.stdout)).join('\n')}\n`);
  return record.state === 'ready' ? EXIT.completed : EXIT.failed;
}
