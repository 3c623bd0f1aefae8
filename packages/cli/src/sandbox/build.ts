import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { styleFor } from '../render/style.ts';
import { readChecksums } from './checksums.ts';
import { madeLines } from './record-lines.ts';
import { withImages, type ImagesPlace } from './open-images.ts';
import { buildFile } from './spec-file.ts';

export interface BuildOptions extends Omit<ImagesPlace, 'checksums' | 'buildTimeoutMs'> {
  /** Milliseconds. */
  timeout?: number;
  /** `TOOL=SHA256`, each. */
  checksum: readonly string[];
  refresh: boolean;
  json: boolean;
}

/** Builds the image of a spec file; 0 when it is ready, 1 when it failed or was broken off. */
export async function build(
  io: Io,
  file: string,
  { refresh, json, checksum, timeout, ...place }: BuildOptions,
): Promise<number> {
  const limits = timeout === undefined ? {} : { buildTimeoutMs: timeout };
  const whole = { ...place, ...limits, checksums: readChecksums(checksum) };
  const made = await withImages(whole, (images) => buildFile(io, images, file, { refresh, quiet: json }));
  if (made === null) {
    const said = { code: 'CANCELLED', message: 'The build was broken off; nothing of it is left.' };
    if (json) io.stderr.write(`${JSON.stringify({ error: said })}\n`);
    else io.stderr.write(`${styleFor(io.stderr).yellow('○')} Cancelled: nothing was built.\n`);
    return EXIT.failed;
  }
  if (json) writeJson(io, { data: made.record });
  else io.stdout.write(`${madeLines(made, styleFor(io.stdout)).join('\n')}\n`);
  return made.record.state === 'ready' ? EXIT.completed : EXIT.failed;
}
