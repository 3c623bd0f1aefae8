import { hasImages, imagesFolder } from '../block-images.ts';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { sanitize, sanitizeLine } from '../render/style.ts';
import { requireDataFolder } from '../store-options.ts';
import type { StoreOptions } from '../store-options.ts';
import { UsageError } from '../usage-error.ts';
import { withImages } from './open-images.ts';

export interface LogOptions extends StoreOptions {
  /** Default: the images of the data folder. */
  images?: string;
  json: boolean;
}

/** Format of a sandbox id. */
const SANDBOX_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Prints the log of the last build of an image. `id`: of the image, or of a sandbox. Returns 0, or 1 without a log. */
export async function log(io: Io, id: string, options: LogOptions): Promise<number> {
  const { data, json, images: folder = imagesFolder(data) } = options;
  const imageId = SANDBOX_ID.test(id) ? await imageIdOf(id, options) : id;
  const imageLog = hasImages(folder) ? await readLog(folder, imageId) : undefined;
  if (!imageLog) {
    throw new UsageError(
      `There is no image "${sanitizeLine(id)}" in ${sanitizeLine(folder)}.`,
      'heddle sandbox list shows the images of a folder. Use --images for another one.',
    );
  }
  const { state, log: text = null } = imageLog;
  if (json) writeJson(io, { data: { id: imageLog.id, state, log: text } });
  else if (text === null) io.stderr.write(`The image is ${state}, and no log of a build is stored.\n`);
  else io.stdout.write(`${sanitize(text)}\n`);
  return text === null ? EXIT.failed : EXIT.completed;
}

/** Returns the image's id, the state of its build and its log; undefined for an unknown image. */
function readLog(folder: string, imageId: string) {
  return withImages({ images: folder }, async (images) => {
    const record = await images.get(imageId);
    return record ? { id: record.id, state: record.state, log: images.readLog(record.id) } : undefined;
  });
}

/** Returns the id of a sandbox's image. Throws a usage error for a sandbox without one. */
async function imageIdOf(sandboxId: string, options: StoreOptions): Promise<string> {
  requireDataFolder(options);
  const { imageIdOfSandbox } = await import('@heddle/service');
  const { withServiceStore } = await import('../serve/service-store.ts');
  const imageId = await withServiceStore(options, (store) => imageIdOfSandbox(store.database, sandboxId));
  if (imageId === undefined) throw new UsageError(`There is no sandbox "${sandboxId}".`);
  if (imageId === null)
    throw new UsageError(`The sandbox "${sandboxId}" has no packages, so nothing is built.`);
  return imageId;
}
