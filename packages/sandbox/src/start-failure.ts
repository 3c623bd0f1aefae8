import { isSandboxError } from './error.ts';
import type { LoadedImage } from './image.ts';
import { createFailure, type SandboxFailure } from './outcome.ts';

/** Warns the operator of the host. System errors contain host paths, so jobs must not see them. */
export function warnOperator(message: string): void {
  process.emitWarning(message, 'HeddleWarning');
}

/**
 * Returns the failure for a job whose process could not be started. It contains our own text or the system's error
 * code; the full error is logged on the host.
 */
export function toStartFailure(error: unknown, image: LoadedImage | undefined): SandboxFailure {
  if (isSandboxError(error)) return createFailure('SANDBOX_UNAVAILABLE', error.message);
  const { code, path, message } = error as { code?: unknown; path?: unknown; message?: unknown };
  warnOperator(`A sandbox process could not be started: ${String(message ?? error)}`);
  if (image !== undefined && Object.values(image.blobs).some((blob) => blob.path === path))
    return createFailure(
      'IMAGE_FAILED',
      `A file of the image "${image.id}" cannot be opened; build the image again.`,
    );
  const reason = typeof code === 'string' ? code : 'see the log of the host';
  return createFailure('SANDBOX_UNAVAILABLE', `A sandbox process could not be started (${reason}).`);
}
