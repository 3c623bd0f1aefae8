import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { ImageError } from '../error.ts';

/** Number and total size of unpacked files. */
export interface Size {
  files: number;
  bytes: number;
}

export const MAX_SIZE: Readonly<Size> = { files: 50_000, bytes: 500 * 2 ** 20 };
/** Factor for the limits of a work folder, which contains the packages twice: cached and unpacked. */
const SIZE_FACTOR = 2.5;
const POLL_MS = 1_000;

const tooLargeError = ({ files, bytes }: Size): ImageError =>
  new ImageError(
    'image_too_large',
    `The packages have more than ${files} files or ${Math.ceil(bytes / 2 ** 20)} MiB.`,
  );

/**
 * Adds the files of a folder to `size`. Throws ImageError image_too_large as soon as it exceeds `maxSize`. Files that
 * disappear in the meantime add no bytes.
 */
async function measure(folder: string, size: Size, maxSize: Readonly<Size>): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await measure(path, size, maxSize);
    else {
      size.files++;
      const stat = await lstat(path).catch(() => undefined);
      size.bytes += stat?.size ?? 0;
    }
    if (size.files > maxSize.files || size.bytes > maxSize.bytes) throw tooLargeError(maxSize);
  }
}

/**
 * Measures a folder every `pollMs` milliseconds while it is being written. Returns a signal that is aborted when the
 * folder exceeds `factor` times the limits, or when `signal` is aborted.
 */
export function watchSize(
  folder: string,
  maxSize: Readonly<Size>,
  signal: AbortSignal,
  { factor = SIZE_FACTOR, pollMs = POLL_MS }: { factor?: number; pollMs?: number } = {},
): { signal: AbortSignal; stop: () => void } {
  const sizeController = new AbortController();
  const limits = { files: maxSize.files * factor, bytes: maxSize.bytes * factor };
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const schedule = (): void => {
    // Nothing is scheduled after `stop`, even if a check was in progress.
    if (!isStopped) timer = setTimeout(check, pollMs);
  };
  const check = (): void => {
    void measure(folder, { files: 0, bytes: 0 }, limits).then(schedule, () =>
      sizeController.abort(tooLargeError(maxSize)),
    );
  };
  schedule();
  const stop = (): void => {
    isStopped = true;
    clearTimeout(timer);
  };
  return { signal: AbortSignal.any([signal, sizeController.signal]), stop };
}

/**
 * Throws ImageError if the installed packages exceed the limits, or contain something that is not a file, a folder or a
 * link within them.
 */
export async function checkInstalledPackages(folder: string, maxSize: Readonly<Size>): Promise<void> {
  await measure(folder, { files: 0, bytes: 0 }, maxSize);
  await checkLinks(folder, await realpath(folder));
}

async function checkLinks(folder: string, root: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await checkLinks(path, root);
    else if (entry.isSymbolicLink()) {
      const target = relative(root, resolve(dirname(path), await readlink(path)));
      if (target.startsWith('..') || isAbsolute(target))
        throw new ImageError(
          'unsupported_package',
          `A package contains a link that leads out of the packages' folder: ${relative(root, path)}.`,
        );
    } else if (!entry.isFile())
      throw new ImageError(
        'unsupported_package',
        `A package contains something that is not a file: ${relative(root, path)}.`,
      );
  }
}
