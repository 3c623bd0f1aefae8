import { BlockError } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';
import { filesIn } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import { invalid } from '../invalid.ts';
import type { Context } from '../define.ts';

/** Images of one question. */
const MAX_IMAGES = 10;
/** Bytes of all images together. */
const MAX_IMAGE_BYTES = 20_000_000;
const DOWNLOAD_MS = 60_000;

/** An image for a model. */
export interface Image {
  /** What the bytes say, whatever a name or a server says. */
  mediaType: string;
  bytes: Uint8Array;
}

/** The first bytes of the formats that models read. */
const FORMATS: readonly (readonly [mediaType: string, test: (head: string) => boolean])[] = [
  ['image/png', (head) => head.startsWith('\x89PNG\r\n\x1A\n')],
  ['image/jpeg', (head) => head.startsWith('\xFF\xD8\xFF')],
  ['image/gif', (head) => head.startsWith('GIF8')],
  ['image/webp', (head) => head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP'],
];

/**
 * Returns the images that a field names: stored files, an address, or a `data:` URL. Addresses are under the rules of egress.
 *
 * Throws BLOCK_CONFIG_INVALID, HTTP_FAILED.
 */
export async function imagesOf(value: Json, context: Context): Promise<Image[]> {
  const sources = typeof value === 'string' ? [value.trim()] : filesIn(value);
  if (sources.length === 0)
    throw invalid(context, 'has an image that is neither a file of this engine nor an address');
  if (sources.length > MAX_IMAGES) throw invalid(context, `has more than ${MAX_IMAGES} images`);
  const images: Image[] = [];
  let left = MAX_IMAGE_BYTES;
  for (const source of sources) {
    const bytes =
      typeof source === 'string' ? await bytesAt(source, context) : await bytesOf(source, left, context);
    left -= bytes.length;
    if (left < 0) throw tooLarge(context);
    images.push({ bytes, mediaType: mediaTypeOf(bytes, context) });
  }
  return images;
}

async function bytesOf(file: FileRecord, left: number, context: Context): Promise<Uint8Array> {
  if (file.size > left) throw tooLarge(context);
  const base64 = await context.services.file(file);
  if (base64 === undefined)
    throw invalid(context, `has an image "${file.name}", which is no file of this workspace`);
  return Buffer.from(base64, 'base64');
}

async function bytesAt(address: string, context: Context): Promise<Uint8Array> {
  if (/^data:/i.test(address)) return bytesIn(address, context);
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw invalid(context, 'has an image that is neither a file of this engine nor an address');
  return download(url, context);
}

function bytesIn(address: string, context: Context): Uint8Array {
  const base64 = /^data:[^,]{0,200};base64,(.*)$/is.exec(address)?.[1];
  if (base64 === undefined) throw invalid(context, 'has a data: URL that is not in Base64');
  return Buffer.from(base64, 'base64');
}

async function download(url: URL, context: Context): Promise<Uint8Array> {
  const egress = await context.services.egress();
  const { signal, remainingMs = DOWNLOAD_MS } = context;
  const what = `The image at ${url.origin}${url.pathname}`;
  let response: Awaited<ReturnType<typeof egress.fetch>>;
  try {
    response = await egress.fetch({
      url: url.href,
      timeoutMs: Math.max(1, Math.min(DOWNLOAD_MS, remainingMs)),
      maxResponseBytes: MAX_IMAGE_BYTES,
      signal,
    });
  } catch (error) {
    signal.throwIfAborted();
    const { message, code } = error as Error & { code?: string };
    const retryable = code !== 'EGRESS_DENIED' && code !== 'EGRESS_TOO_LARGE';
    throw new BlockError('HTTP_FAILED', `${what} cannot be read: ${message}`, { retryable, cause: error });
  }
  const { status, body } = response;
  if (status === 200) return body;
  const retryable = status === 429 || status >= 500;
  throw new BlockError('HTTP_FAILED', `${what} cannot be read: the server answered ${status}.`, {
    retryable,
  });
}

function mediaTypeOf(bytes: Uint8Array, context: Context): string {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  const [mediaType] = FORMATS.find(([, test]) => test(head)) ?? [];
  if (mediaType === undefined) throw invalid(context, 'has an image that is no PNG, JPEG, GIF or WebP');
  return mediaType;
}

function tooLarge(context: Context): BlockError {
  return invalid(context, `has images of more than ${MAX_IMAGE_BYTES / 1e6} MB together`);
}
