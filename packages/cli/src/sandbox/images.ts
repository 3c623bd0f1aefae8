import type { Images } from '@heddle/images';
import { hasImages } from '../block-images.ts';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { sanitizeLine, styleFor } from '../render/style.ts';
import { UsageError } from '../usage-error.ts';
import { imageTableLines, buildLines } from './record-lines.ts';
import { withImages, type ImagesOptions } from './open-images.ts';
import { buildImageFromFile } from './spec-file.ts';

const CHECKSUM_PAIR = /^([^=]+)=([0-9a-f]{64})$/i;

export interface BuildOptions extends Omit<ImagesOptions, 'checksums' | 'buildTimeoutMs'> {
  /** Milliseconds. */
  timeout?: number;
  /** `TOOL=SHA256`. */
  checksum: readonly string[];
  refresh: boolean;
  json: boolean;
}

/** Builds the image of a specification file. Returns 0 if it is ready, 1 if the build failed or was cancelled. */
export async function build(
  io: Io,
  file: string,
  { refresh, json, checksum, timeout, ...rest }: BuildOptions,
): Promise<number> {
  const limits = timeout === undefined ? {} : { buildTimeoutMs: timeout };
  const options = { ...rest, ...limits, checksums: parseChecksums(checksum) };
  const result = await withImages(options, async (images) => {
    const buildResult = await buildImageFromFile(io, images, file, { refresh, quiet: json });
    if (buildResult) await deleteUnusedImages(io, images);
    return buildResult;
  });
  if (!result) {
    const error = { code: 'CANCELLED', message: 'The build was cancelled.' };
    if (json) io.stderr.write(`${JSON.stringify({ error })}\n`);
    else io.stderr.write(`${styleFor(io.stderr).yellow('○')} Cancelled. No image was built.\n`);
    return EXIT.failed;
  }
  if (json) writeJson(io, { data: result.record });
  else io.stdout.write(`${buildLines(result, styleFor(io.stdout)).join('\n')}\n`);
  return result.record.state === 'ready' ? EXIT.completed : EXIT.failed;
}

/** Deletes unused images: without a server or worker, nothing else does. If this fails, prints a warning. */
async function deleteUnusedImages(io: Io, images: Pick<Images, 'collectGarbage'>): Promise<void> {
  try {
    await images.collectGarbage();
  } catch (error) {
    const message = `Unused images could not be deleted: ${(error as Error).message}`;
    io.stderr.write(`${styleFor(io.stderr).yellow('!')} ${sanitizeLine(message)}\n`);
  }
}

/** Prints the images of a folder. */
export async function list(
  io: Io,
  { images: folder, json }: { images: string; json: boolean },
): Promise<number> {
  // Listing does not create the folder.
  const records = hasImages(folder) ? await withImages({ images: folder }, (images) => images.list()) : [];
  if (json) writeJson(io, { data: records });
  else if (records.length === 0) io.stdout.write(`No images in ${sanitizeLine(folder)}.\n`);
  else io.stdout.write(`${imageTableLines(records, styleFor(io.stdout)).join('\n')}\n`);
  return EXIT.completed;
}

/** Parses `TOOL=SHA256` pairs: id of a command-line tool → trusted digest. Throws a usage error. */
export function parseChecksums(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, tool, digest] = CHECKSUM_PAIR.exec(pair) ?? [];
      if (tool !== undefined && digest !== undefined) return [tool, digest.toLowerCase()];
      throw new UsageError(
        `--checksum needs the id of a command-line tool and the SHA-256 of its file, not "${pair}".`,
        'Use TOOL=SHA256: --checksum flyctl@0.4.78-r1=… with 64 hexadecimal digits.',
      );
    }),
  );
}
