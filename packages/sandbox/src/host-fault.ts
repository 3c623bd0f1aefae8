import { isSandboxError } from './error.ts';
import type { LoadedImage } from './image.ts';
import { failure, type SandboxFailure } from './outcome.ts';

/** Tells whoever runs the host, and nobody else: what a system says has paths of the host in it. */
export function tellHost(message: string): void {
  process.emitWarning(message, 'HeddleWarning');
}

/** Why no process could be started for a job: our own words, or the system's code. All that the system said goes to the host. */
export function startFailure(error: unknown, image: LoadedImage | null): SandboxFailure {
  if (isSandboxError(error)) return failure('SANDBOX_UNAVAILABLE', error.message);
  const { code, path, message } = error as { code?: unknown; path?: unknown; message?: unknown };
  tellHost(`A sandbox process could not be started: ${String(message ?? error)}`);
  if (image !== null && Object.values(image.blobs).some((blob) => blob.path === path))
    return failure(
      'IMAGE_FAILED',
      `A file of the image "${image.id}" cannot be opened; build the image again.`,
    );
  const why = typeof code === 'string' ? code : 'the host was told why';
  return failure('SANDBOX_UNAVAILABLE', `A sandbox process could not be started (${why}).`);
}
