import type { HttpClient } from '../executors/services.ts';
import type { NewFile } from './storage.ts';
import { FileRejected, MAX_FILE_BYTES, fileTooLarge } from './parse.ts';
import type { FileInput } from './parse.ts';

/** Time for one file, redirects included. */
const FETCH_TIMEOUT_MS = 30_000;

/** The file at the address, fetched through the guarded way out. Throws FileRefusal. */
export async function downloadFile(
  httpClient: HttpClient,
  sent: FileInput,
  signal?: AbortSignal,
): Promise<NewFile> {
  const { name, data: url, mime } = sent;
  try {
    const limits = { timeoutMs: FETCH_TIMEOUT_MS, maxResponseBytes: MAX_FILE_BYTES };
    const { status, headers, body } = await httpClient.fetch({ url, ...limits, ...(signal && { signal }) });
    if (status < 200 || status > 299) throw new FileRejected(`its address answered with ${status}`);
    const type = mime ?? headers.find(([header]) => header === 'content-type')?.[1];
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    return { name, type, base64: bytes.toString('base64') };
  } catch (error) {
    // Loaded by now: it is where the way out comes from.
    const { isEgressError } = await import('@heddle/sandbox/egress');
    if (!isEgressError(error)) throw error;
    throw error.code === 'EGRESS_TOO_LARGE' ? fileTooLarge() : new FileRejected(error.message);
  }
}
