import { BlockError } from '@heddle/core/blocks';
import { isRetryableStatus } from '@heddle/core/fields';
import type { Context } from './define.ts';

const DOWNLOAD_TIMEOUT_MS = 60_000;

/** A file to download. */
interface DownloadRequest {
  url: URL;
  /** Subject of error messages: `The image at https://…`. */
  subject: string;
  maxBytes: number;
  headers?: readonly [name: string, value: string][];
}

/**
 * Downloads a file, subject to the egress policy. Returns its content, and its media type if the server sends it.
 * Throws HTTP_FAILED.
 */
export async function download(
  { services, signal, remainingMs = DOWNLOAD_TIMEOUT_MS }: Context,
  { url, subject, maxBytes, headers }: DownloadRequest,
): Promise<{ bytes: Uint8Array; type: string | undefined }> {
  const httpClient = await services.httpClient();
  let response: Awaited<ReturnType<typeof httpClient.fetch>>;
  try {
    response = await httpClient.fetch({
      url: url.href,
      timeoutMs: Math.max(1, Math.min(DOWNLOAD_TIMEOUT_MS, remainingMs)),
      maxResponseBytes: maxBytes,
      signal,
      ...(headers && { headers }),
    });
  } catch (error) {
    signal.throwIfAborted();
    const { message, code } = error as Error & { code?: string };
    const retryable = code !== 'EGRESS_DENIED' && code !== 'EGRESS_TOO_LARGE';
    throw new BlockError('HTTP_FAILED', `${subject} cannot be read: ${message}`, { retryable, cause: error });
  }
  const { status, body, headers: responseHeaders } = response;
  if (status === 200)
    return { bytes: body, type: responseHeaders.find(([name]) => name === 'content-type')?.[1] };
  throw new BlockError('HTTP_FAILED', `${subject} cannot be read: the server responded with ${status}.`, {
    retryable: isRetryableStatus(status),
  });
}
