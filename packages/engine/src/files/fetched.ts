import type { Outlet } from '../executors/services.ts';
import type { NewFile } from './kept.ts';
import { FileRefusal, MAX_FILE_BYTES, tooLarge } from './sent.ts';
import type { SentFile } from './sent.ts';

/** Time for one file, redirects included. */
const FETCH_TIMEOUT_MS = 30_000;

/** The file at the address, fetched through the guarded way out. Throws FileRefusal. */
export async function fetchFile(outlet: Outlet, sent: SentFile, signal?: AbortSignal): Promise<NewFile> {
  const { name, data: url, mime } = sent;
  try {
    const limits = { timeoutMs: FETCH_TIMEOUT_MS, maxResponseBytes: MAX_FILE_BYTES };
    const { status, headers, body } = await outlet.fetch({ url, ...limits, ...(signal && { signal }) });
    if (status < 200 || status > 299) throw new FileRefusal(`its address answered with ${status}`);
    const type = mime ?? headers.find(([header]) => header === 'content-type')?.[1];
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    return { name, type, base64: bytes.toString('base64') };
  } catch (error) {
    // Loaded by now: it is where the way out comes from.
    const { isEgressError } = await import('@heddle/sandbox/egress');
    if (!isEgressError(error)) throw error;
    throw error.code === 'EGRESS_TOO_LARGE' ? tooLarge() : new FileRefusal(error.message);
  }
}
