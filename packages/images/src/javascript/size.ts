import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { ImageError } from '../error.ts';

/** What packages may have, unpacked. */
export interface Size {
  files: number;
  bytes: number;
}

export const MAX_SIZE: Readonly<Size> = { files: 50_000, bytes: 500 * 2 ** 20 };
/** The work folder holds the packages twice: in the cache and unpacked. */
const COPIES = 2.5;
const LOOK_MS = 1_000;

const tooLarge = ({ files, bytes }: Size): ImageError =>
  new ImageError(
    'image_too_large',
    `The packages have more than ${files} files or ${Math.ceil(bytes / 2 ** 20)} MiB.`,
  );

/** Adds up a folder, up to a limit. What disappears meanwhile is not counted. */
async function measure(folder: string, size: Size, most: Readonly<Size>): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await measure(path, size, most);
    else {
      size.files++;
      const stat = await lstat(path).catch(() => null);
      size.bytes += stat?.size ?? 0;
    }
    if (size.files > most.files || size.bytes > most.bytes) throw tooLarge(most);
  }
}

/** Aborts when the folder outgrows what packages may have, while something is written to it. */
export function watchSize(
  folder: string,
  most: Readonly<Size>,
  signal: AbortSignal,
  { copies = COPIES, lookMs = LOOK_MS }: { copies?: number; lookMs?: number } = {},
): { signal: AbortSignal; stop: () => void } {
  const over = new AbortController();
  const both = { files: most.files * copies, bytes: most.bytes * copies };
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const again = (): void => {
    // A look that was under way when the watch ended is the last one.
    if (!stopped) timer = setTimeout(look, lookMs);
  };
  const look = (): void => {
    void measure(folder, { files: 0, bytes: 0 }, both).then(again, () => over.abort(tooLarge(most)));
  };
  again();
  const stop = (): void => {
    stopped = true;
    clearTimeout(timer);
  };
  return { signal: AbortSignal.any([signal, over.signal]), stop };
}

/** Throws ImageError where installed packages are too many, or a link in them leads out of their folder. */
export async function checkInstalled(folder: string, most: Readonly<Size>): Promise<void> {
  await measure(folder, { files: 0, bytes: 0 }, most);
  await checkLinks(folder, await realpath(folder));
}

async function checkLinks(folder: string, root: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await checkLinks(path, root);
    else if (entry.isSymbolicLink()) {
      const inside = relative(root, resolve(dirname(path), await readlink(path)));
      if (inside.startsWith('..') || isAbsolute(inside))
        throw new ImageError(
          'unsupported_package',
          `A package has a link that leads out of it: ${relative(root, path)}.`,
        );
    } else if (!entry.isFile())
      throw new ImageError(
        'unsupported_package',
        `A package has something that is no file: ${relative(root, path)}.`,
      );
  }
}
